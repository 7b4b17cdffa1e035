/*
 * conditional: the decision and the write are one statement (sale/body/body_guarded.h).
 *
 * It cannot oversell, whatever else fails; it is the baseline that every lock is compared with, and
 * what body=guarded runs under one.
 */
#include "sale/body/body_guarded.h"
#include "strategies/strategies.h"

const struct strategy strategy_conditional = {
    .name = "conditional",
    .usual = true,
    .summary = "One conditional UPDATE decides and writes at once. The baseline of every lock.",
    .summary_zh = "条件更新：一条 UPDATE … WHERE stock >= q 判断并写入，是各种锁的比较基准",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    .mixes = true,
    LANE_OF_A_ROW,
    .buy = body_guarded,
};
