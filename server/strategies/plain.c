/*
 * The plain body (sale/body/body_plain.h) with no lock of its own around it.
 *
 * `none` runs it with no protection at all. `local-lock` runs it with one order of a product at a
 * time in this process (the lane is the lock): right with one instance, wrong with two.
 */
#include "sale/body/body_chosen.h"
#include "sale/body/body_plain.h"
#include "strategies/strategies.h"

const struct strategy strategy_none = {
    .name = "none",
    .usual = true,
    .summary = "No protection: read the stock, decide, write it back. Kept to show the race.",
    .summary_zh = "不保护：读、判断、写回，用来展示竞争",
    .family = FAMILY_NOTHING,
    .needs = NEED_POSTGRESQL,
    .lane = {.workers = 16, .max_batch = 1},
    .buy = body_plain,
    .restock = body_plain_restock,
};

const struct strategy strategy_local_lock = {
    .name = "local-lock",
    .summary =
        "A lock in this process: one order of a product at a time. Wrong with two instances.",
    .summary_zh = "进程内的锁：同一商品一次只处理一单，有两个实例就错",
    .family = FAMILY_NOTHING,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE,
    .lane = {.in_flight_per_product = 1, .keyed = true, .workers = 16, .max_batch = 1},
    BODY_CHOSEN,
};
