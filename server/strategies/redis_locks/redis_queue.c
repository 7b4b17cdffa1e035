/*
 * redis-queue: a bounded queue in each instance, one representative, a fenced lock, many orders a
 * hold.
 *
 * The seed's idea (queue locally, let one per instance compete for the Redis lock) done right:
 *  - orders of one product wait in the lane's mailbox; the first of them, the representative,
 * acquires the Redis lock (redis_fair.c: token, renewal, waiters woken in turn), under the order's
 * own deadline;
 *  - once a hold the fence is registered by a statement of its own, committed before anything is
 * read: from then on no earlier holder, however long it was paused, can write this product through
 * this strategy;
 *  - whatever waits is decided in one transaction (combine.c), each write under the fence; more
 * batches follow under the same hold until it is LANE_HOLD_US old or the mailbox is empty, then
 * another instance's turn.
 *
 * It cannot oversell even when the lock fails (a paused holder, a Redis that forgets): the row's
 * lock and the fence decide, and the stale holder is refused with lease_lost. A crash loses no
 * answered order; it leaves the lock until the lease ends.
 *
 * Sources: wllock (the seed's library) for the shape; Kleppmann 2016 for fencing; Redis
 * documentation, "Distributed Locks with Redis", for the token.
 */
#include "sale/decide_many/combine.h"
#include "sale/turns.h"
#include "strategies/strategies.h"

enum { LANE_HOLD_US = 5000 };

static int64_t row_deadline(struct session *session, const struct batch *batch)
{
    const struct order *first = batch->orders;

    for (const struct order *order = first->next; order; order = order->next)
        if (order->wait_until_us < first->wait_until_us)
            first = order;
    purchase_may_wait(session, first);
    return purchase_row_deadline(session, first);
}

/* What failed for the first failed for all that are not decided, but for a wait that was too long
 * for one of them. */
static bool register_fence(struct session *session, struct batch *batch, struct order *first)
{
    if (purchase_register_fence(session, first, row_deadline(session, batch)))
        return true;
    enum order_outcome outcome = first->outcome;
    bool waited = first->if_not_done == ORDER_LOCK_TIMEOUT;
    for (struct order *order = batch->orders; order; order = order->next) {
        if (order != first && order->outcome != ORDER_PENDING)
            continue;
        order->outcome = outcome;
        if (waited)
            purchase_waited(order);
    }
    return false;
}

static void redis_queue_sell(struct session *session, struct batch *batch)
{
    struct split split;

    purchase_split(batch, &split);
    split.buy_count = combine_look(session, split.buys, split.buy_count);
    if (split.buy_count + split.change_count == 0 ||
        !register_fence(session, batch, split.buy_count > 0 ? split.buys[0] : split.changes[0]))
        return;
    if (split.buy_count > 0)
        combine_buys(session, split.buys, split.buy_count, session->hold.fence);
    purchase_one_by_one(session, split.changes, split.change_count);
}

const struct strategy strategy_redis_queue = {
    .name = "redis-queue",
    .usual = true,
    .summary = "A queue in each instance, one fenced Redis lock between them, many orders a hold.",
    .summary_zh = "实例内排队，实例之间一把带 fencing token 的 Redis 锁，一次持锁卖许多单",
    .family = FAMILY_REDIS_LOCK,
    .needs = NEED_POSTGRESQL | NEED_REDIS,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    .mixes = true,
    .shared_flush = true,
    .lane = {.in_flight_per_product = 1,
             .keyed = true,
             .workers = 8,
             .max_batch = COMBINE_MAX,
             .hold_us = LANE_HOLD_US},
    .lock = &lock_redis_fair,
    .sell = redis_queue_sell,
};
