/*
 * redis-fenced: redis-token, and a fence in the row that it protects.
 *
 * After acquiring, a statement of its own adds one to product.fence and is committed at once; only
 * then is the stock read, and every write says AND fence = the number registered. A holder that was
 * paused past its lease finds the number gone: its write matches no row, it is rolled back and the
 * order ends as lease_lost. Registering before the read is what makes it safe: a fence that is
 * looked at by the write alone lets a stale holder write after the next one has read and before it
 * has written (Kleppmann's drawing of 2016 does not show that order of events).
 *
 * So it cannot oversell when a holder is paused, nor when Redis forgets the lock: the row decides
 * and the lock keeps the queue polite. It costs one statement and one flush more than redis-token.
 * A crash leaves the lock for one lease.
 */
#include "sale/body/body_chosen.h"
#include "sale/turns.h"
#include "strategies/strategies.h"

static void redis_fenced_sell(struct session *session, struct batch *batch)
{
    struct order *order = batch->orders;

    /* The guarded body decides on the row itself: a fence would only refuse those it is mixed with.
     */
    if (order->body == BODY_GUARDED ||
        purchase_register_fence(session, order, purchase_row_deadline(session, order)))
        purchase_each(session, batch);
}

const struct strategy strategy_redis_fenced = {
    .name = "redis-fenced",
    .usual = true,
    .summary = "redis-token and a fence in the row: a stale holder's write is refused.",
    .summary_zh = "redis-token，再加商品行里的 fencing token：过期持锁者的写入会被拒绝",
    .family = FAMILY_REDIS_LOCK,
    .needs = NEED_POSTGRESQL | NEED_REDIS,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    LANE_OF_A_ROW,
    .lock = &lock_redis_token,
    BODY_CHOSEN,
    .sell = redis_fenced_sell,
};
