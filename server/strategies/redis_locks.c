/*
 * The strategies that differ in their Redis lock alone: the ladder of the articles, from SETNX to a
 * watchdog.
 *
 * Acquire, run the body that the request chose (plain: read, decide, write the absolute figure),
 * commit, release. How each lock works and how it fails stands in lock/, in the file of its name.
 * With the plain body each of them is right as long as nobody is paused past a lease and Redis
 * forgets nothing, and oversells when that happens; with body=guarded the database decides and no
 * lock can do harm. What makes an order wait is another holder; a crash loses no answered order and
 * leaves the lock until its lease ends (redis-setnx: perhaps for ever).
 */
#include "sale/purchase.h"
#include "strategies/strategies.h"

#define REDIS_LOCK_ROW                                                                             \
    .family = FAMILY_REDIS_LOCK, .needs = NEED_POSTGRESQL | NEED_REDIS,                            \
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY, .bodies = true,                                  \
    .lane = {.in_flight_per_product = 4, .workers = 16, .max_batch = 1}, .sell = body_sell_chosen

const struct strategy strategy_redis_setnx = {
    .name = "redis-setnx",
    .summary = "SETNX, then EXPIRE, then DEL. A death between the first two locks for ever.",
    .lock = &lock_redis_setnx,
    REDIS_LOCK_ROW,
};

const struct strategy strategy_redis_getset = {
    .name = "redis-getset",
    .summary = "SETNX and GETSET of a timestamp, polled for. Skewed clocks steal a live lock.",
    .lock = &lock_redis_getset,
    REDIS_LOCK_ROW,
};

const struct strategy strategy_redis_expiry = {
    .name = "redis-expiry",
    .summary = "SET NX PX, then DEL without an owner. A late holder frees the next one's lock.",
    .lock = &lock_redis_expiry,
    REDIS_LOCK_ROW,
};

const struct strategy strategy_redis_uuid = {
    .name = "redis-uuid",
    .summary = "SET NX PX of a UUID; GET, compare, DEL in three steps. Can still free another's.",
    .lock = &lock_redis_uuid,
    REDIS_LOCK_ROW,
};

const struct strategy strategy_redis_token = {
    .name = "redis-token",
    .summary = "SET NX PX of a token, compared and deleted in one script. No fence.",
    .lock = &lock_redis_token,
    REDIS_LOCK_ROW,
};

const struct strategy strategy_redis_watchdog = {
    .name = "redis-watchdog",
    .summary = "Redisson's way: a reentrant lock, renewed while the work lasts; waiters are told.",
    .lock = &lock_redis_watchdog,
    REDIS_LOCK_ROW,
};
