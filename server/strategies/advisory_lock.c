/*
 * advisory-lock: PostgreSQL's own lock service, a number that a transaction holds until it ends.
 *
 * BEGIN; pg_advisory_xact_lock; then, in a NEW statement, the body; COMMIT. Under READ COMMITTED
 * each statement has its own snapshot: one that locked and read at once would read what was there
 * before it waited, and oversell. The lock lives in the same session as the writes, so it cannot
 * lapse under them: a session that dies takes its transaction along, however long this process was
 * paused. It ends with the COMMIT, never before it. That is why the plain body is safe under it,
 * as long as everybody who sells the product asks for the lock: cancels and
 * restocks do, too.
 *
 * The key is a pair: a class of ours, and a hash of the product's id. The wait counts as the
 * order's own (wait_timeout, phase lock); wait_ms=0 asks with the try form. Nothing makes it retry
 * but a PUT in between. A crash loses nothing that was answered, and the lock is free at once.
 *
 * Source: PostgreSQL documentation, "Advisory Locks".
 */
#include "sale/body/body_chosen.h"
#include "sale/turns.h"
#include "strategies/strategies.h"

static bool lock(struct session *session, struct order *order)
{
    enum sql statement = order->no_wait ? SQL_ADVISORY_LOCK_TRY : SQL_ADVISORY_LOCK;
    int64_t until_us = order->no_wait ? session->work_until_us : order->wait_until_us;

    pg_begin(session->pg);
    if (!purchase_run(session, order, statement, PG_ARGS(pg_int8(order->product_id)), until_us))
        return false;
    return !order->no_wait || pg_get_bool(session->pg, 0, 0) ||
           purchase_refuse(session, order, ORDER_LOCK_TIMEOUT);
}

static void advisory_lock_sell(struct session *session, struct batch *batch)
{
    if (lock(session, batch->orders))
        purchase_each(session, batch);
}

const struct strategy strategy_advisory_lock = {
    .name = "advisory-lock",
    .summary = "A lock by number in PostgreSQL, held by the transaction until it commits.",
    .summary_zh = "PostgreSQL 的咨询锁：按编号加锁，由事务持有到提交",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    LANE_OF_A_ROW,
    BODY_CHOSEN,
    .sell = advisory_lock_sell,
};
