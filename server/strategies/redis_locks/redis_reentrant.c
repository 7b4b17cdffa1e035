/*
 * redis-reentrant: article 003's lock, whose owner may take it again.
 *
 * The plain body, and around the order's insert and its commit the lock is acquired once more, as
 * when the code that writes the order guards itself too. With redis-token that would wait for
 * itself until its deadline. It cannot oversell while the lease lasts; a holder paused past it
 * does, as with every lease without a fence. A crash leaves the lock for one lease.
 */
#include "base/clock.h"
#include "sale/body/body_chosen.h"
#include "sale/body/body_guarded.h"
#include "sale/body/body_plain.h"
#include "sale/purchase_write.h"
#include "strategies/strategies.h"

enum { RELEASE_TIMEOUT_US = 1000000 };

static void finish_nested(struct session *session, struct order *order,
                          const struct product_row *row)
{
    const struct lock *lock = order->strategy->lock;
    struct lock_client client = session_lock_client(session);

    switch (lock->reenter(&client, &session->hold.lease)) {
    case LOCK_OWNED:
        break;
    case LOCK_BUSY: /* the lease has ended and somebody else holds it */
        purchase_refuse(session, order, ORDER_LEASE_LOST);
        return;
    case LOCK_UNKNOWN:
        purchase_refuse(session, order, ORDER_BACKEND_UNAVAILABLE);
        return;
    }
    purchase_finish(session, order, row);
    if (order->outcome != ORDER_UNSETTLED)
        lock->release(&client, &session->hold.lease, clock_mono_us() + RELEASE_TIMEOUT_US);
}

static void redis_reentrant_buy(struct session *session, struct order *order)
{
    struct product_row row;

    if (order->body == BODY_GUARDED)
        body_guarded(session, order);
    else if (body_plain_decide(session, order, &row) &&
             purchase_set_stock(session, order, &row, row.stock - order->quantity))
        finish_nested(session, order, &row);
}

const struct strategy strategy_redis_reentrant = {
    .name = "redis-reentrant",
    .summary = "A hash {owner: count} in Lua: the owner may take the lock again. No fence.",
    .summary_zh = "可重入锁：Lua 里的哈希 {持有者: 次数}；没有 fencing token",
    .family = FAMILY_REDIS_LOCK,
    .needs = NEED_POSTGRESQL | NEED_REDIS,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY,
    .bodies = true,
    .lane = {.in_flight_per_product = 4, .workers = 16, .max_batch = 1},
    .lock = &lock_redis_reentrant,
    .buy = redis_reentrant_buy,
    .restock = body_chosen_restock,
};
