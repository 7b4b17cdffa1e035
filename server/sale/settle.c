/*
 * A lost COMMIT is looked into on whatever connection can be had until settle_until_us; after that
 * it is OUTCOME_UNKNOWN. A refusal is looked up within the work's own time; where that fails the
 * answer is PostgreSQL's failure, not the refusal.
 */
#include "sale/settle.h"

#include "base/clock.h"
#include "base/log.h"
#include "postgres/catalog.h"
#include "sale/purchase.h"
#include "strategy/parking.h"

enum { RECONNECT_PAUSE_US = 50000 };

/* Inserts the tombstone and reads who holds the id: STATUS_FAILED is the tombstone. PG_OK and
 * *found, with the order's hold, or the trouble. */
static enum pg_status probe(struct session *session, struct order *order, int64_t until_us,
                            enum order_status *found)
{
    struct pg *pg = session->pg;
    bool restock = order->kind == ORDER_RESTOCK;
    enum pg_status status;

    if (restock)
        status = pg_exec(pg, SQL_RESTOCK_TOMBSTONE,
                         PG_ARGS(pg_uuid(&order->id), pg_int8(order->product_id),
                                 pg_text(order->strategy->name), pg_time(order->created_us)),
                         until_us);
    else
        status = pg_exec(pg, SQL_ORDER_TOMBSTONE,
                         PG_ARGS(pg_uuid(&order->id), pg_int8(order->product_id),
                                 pg_int8(order->user_id), pg_int8(order->quantity),
                                 pg_text(order->strategy->name), pg_time(order->created_us)),
                         until_us);
    /* An earlier probe whose own answer was lost may have left the tombstone, so read, do not
     * assume. */
    if (status == PG_OK)
        status = pg_exec(pg, restock ? SQL_RESTOCK_STATUS : SQL_ORDER_STATUS,
                         PG_ARGS(pg_uuid(&order->id)), until_us);
    *found = STATUS_FAILED;
    if (status == PG_OK && pg_rows(pg) == 0)
        return pg_withheld(pg, restock ? "restock" : "orders");
    if (status == PG_OK) {
        if (!restock) {
            *found = (enum order_status)pg_get_int2(pg, 0, 0);
            order->hold_until_us = *found == STATUS_PENDING ? pg_get_time(pg, 0, 1) : 0;
        } else if (pg_get_int8(pg, 0, 0) > 0)
            *found = STATUS_CONFIRMED;
    }
    return status == PG_OK ? pg_prove(pg, until_us) : status;
}

static bool settle_commit(struct session *session, struct order *order)
{
    char id[UUID_TEXT_LENGTH + 1];
    enum order_status found;

    uuid_format(&order->id, id);
    while (clock_mono_us() < order->settle_until_us) {
        if (pg_connect(session->pg, order->settle_until_us) &&
            probe(session, order, order->settle_until_us, &found) == PG_OK) {
            log_info("order %s: its lost commit is settled: %s", id,
                     found == STATUS_FAILED ? "not committed" : "committed");
            if (found == STATUS_QUEUED)
                parking_accept(order);
            else if (found != STATUS_FAILED)
                purchase_found(order, found);
            else
                order->outcome = order->if_not_done;
            return true;
        }
        clock_sleep_until(clock_mono_us() + RECONNECT_PAUSE_US);
    }
    log_error("order %s: whether it was committed is unknown: %s", id, pg_error(session->pg)->text);
    order->outcome = ORDER_OUTCOME_UNKNOWN;
    return false;
}

/* The cancel's transaction locks the order's row before its COMMIT, so a lock on that row means
 * that the transaction has ended. True when *order says what became of it. */
static bool find_cancel(struct session *session, struct order *order)
{
    struct pg *pg = session->pg;

    if (!pg_connect(pg, order->settle_until_us) ||
        pg_exec(pg, SQL_ORDER_READ_SETTLED, PG_ARGS(pg_uuid(&order->id)), order->settle_until_us) !=
            PG_OK)
        return false;
    if (pg_rows(pg) == 0) {
        order->outcome = ORDER_NOT_FOUND; /* a PUT has ended its sale */
        return true;
    }
    purchase_saw_order(pg, order);
    if (order->record.status == order_returned_status(order->kind))
        order->outcome = order_returned_outcome(order->kind);
    else if (!order->no_wait && clock_mono_us() < order->wait_until_us)
        order->outcome = ORDER_RETRY;
    else
        order->outcome = order->if_not_done;
    return true;
}

static bool settle_cancel(struct session *session, struct order *order)
{
    char id[UUID_TEXT_LENGTH + 1];

    uuid_format(&order->id, id);
    while (clock_mono_us() < order->settle_until_us) {
        if (find_cancel(session, order)) {
            log_info("order %s: the lost commit of its cancel is settled: %s", id,
                     order->outcome == order_returned_outcome(order->kind) ? "committed"
                                                                           : "not committed");
            return true;
        }
        clock_sleep_until(clock_mono_us() + RECONNECT_PAUSE_US);
    }
    log_error("order %s: whether it was cancelled is unknown: %s", id, pg_error(session->pg)->text);
    order->outcome = ORDER_OUTCOME_UNKNOWN;
    return false;
}

static bool is_refusal(enum order_outcome outcome)
{
    return outcome == ORDER_SOLD_OUT || outcome == ORDER_LIMIT_REACHED ||
           outcome == ORDER_SALE_NOT_OPEN || outcome == ORDER_KEY_TAKEN;
}

static void look_up_restock(struct session *session, struct order *order)
{
    enum pg_status status =
        pg_exec(session->pg, SQL_RESTOCK_BY_KEY,
                PG_ARGS(pg_int8(order->product_id), pg_text(order->key)), session->work_until_us);

    if (status != PG_OK)
        purchase_failed(session, order, status, false);
    else if (pg_rows(session->pg) == 0)
        purchase_missed(session, order, MISSED_KEY, "restock"); /* its sale ended in between */
    else if (pg_get_int8(session->pg, 0, 0) != order->quantity)
        order->outcome = ORDER_IDEMPOTENCY_MISMATCH;
    else if (purchase_flush_read(session, order, session->work_until_us))
        order->outcome = ORDER_REPLAYED;
}

static void look_up_order(struct session *session, struct order *order)
{
    enum pg_status status =
        pg_exec(session->pg, SQL_ORDER_BY_KEY,
                PG_ARGS(pg_int8(order->user_id), pg_text(order->key)), session->work_until_us);

    if (status != PG_OK) {
        purchase_failed(session, order, status, false);
        return;
    }
    if (pg_rows(session->pg) == 0) {
        if (order->outcome == ORDER_KEY_TAKEN)
            purchase_missed(session, order, MISSED_KEY, "orders"); /* its sale ended in between */
        return;
    }
    purchase_saw_order(session->pg, order);
    bool same =
        order->record.product_id == order->product_id && order->record.quantity == order->quantity;
    if (!same)
        order->outcome = ORDER_IDEMPOTENCY_MISMATCH;
    else if (purchase_flush_read(session, order, session->work_until_us))
        order->outcome = ORDER_REPLAYED;
}

bool settle_batch(struct session *session, struct batch *batch)
{
    bool settled = true;

    for (struct order *order = batch->orders; order; order = order->next) {
        if (order->outcome == ORDER_UNSETTLED)
            settled &= order->kind == ORDER_CANCEL || order->kind == ORDER_EXPIRE
                           ? settle_cancel(session, order)
                           : settle_commit(session, order);
        else if (order->key[0] && is_refusal(order->outcome)) {
            pg_connect(session->pg, session->work_until_us); /* another order may have lost it */
            if (order->kind == ORDER_RESTOCK)
                look_up_restock(session, order);
            else
                look_up_order(session, order);
        }
    }
    return settled;
}
