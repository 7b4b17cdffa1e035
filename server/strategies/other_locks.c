/*
 * The strategies whose lock is in neither PostgreSQL nor the one Redis: redlock, memcached-lock,
 * zookeeper-lock.
 *
 * As the Redis ladder: acquire, run the body that the request chose, commit, release. How each lock
 * works and how it fails stands in lock/, in the file of its name. None has a fence, so with the
 * plain body each is as right as its lease: a holder paused past it oversells, and so does a store
 * that forgets. With body=guarded the database decides.
 */
#include "sale/purchase.h"
#include "strategies/strategies.h"

#define OTHER_LOCK_ROW                                                                             \
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY, .bodies = true,                                  \
    .lane = {.in_flight_per_product = 4, .workers = 16, .max_batch = 1}, .sell = body_sell_chosen

const struct strategy strategy_redlock = {
    .name = "redlock",
    .summary = "A token on the majority of 3 or 5 Redis servers that know nothing of each other.",
    .family = FAMILY_REDIS_LOCK,
    .needs = NEED_POSTGRESQL | NEED_REDLOCK,
    .lock = &lock_redlock,
    OTHER_LOCK_ROW,
};

const struct strategy strategy_memcached_lock = {
    .name = "memcached-lock",
    .summary = "A token that memcached's add stores once, with a lease; released by gets and cas.",
    .family = FAMILY_OTHER_LOCK,
    .needs = NEED_POSTGRESQL | NEED_MEMCACHED,
    .lock = &lock_memcached,
    OTHER_LOCK_ROW,
};

const struct strategy strategy_zookeeper_lock = {
    .name = "zookeeper-lock",
    .summary =
        "The lowest of ZooKeeper's ephemeral sequential nodes; each waits for the one before.",
    .family = FAMILY_OTHER_LOCK,
    .needs = NEED_POSTGRESQL | NEED_ZOOKEEPER,
    .lock = &lock_zookeeper,
    OTHER_LOCK_ROW,
};
