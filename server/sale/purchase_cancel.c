/* The one cancel, and the way back of its units to the stock. */
#include "sale/purchase_cancel.h"

#include "base/clock.h"
#include "postgres/catalog.h"

enum pg_status purchase_return_stock(struct session *session, const struct order *order,
                                     int64_t epoch)
{
    int64_t fence = session->hold.fence;
    int64_t until_us = purchase_row_deadline(session, order);
    struct pg_value values[] = {pg_int8(order->product_id), pg_int8(epoch),
                                pg_int8(order->quantity), pg_int8(fence)};

    return fence ? pg_exec(session->pg, SQL_STOCK_RETURN_FENCED, values, 4, until_us)
                 : pg_exec(session->pg, SQL_STOCK_RETURN, values, 3, until_us);
}

/* Whether there is something to give back: nobody ends the hold of an order that was paid. */
static bool may_return(const struct order *order)
{
    return order->record.status == STATUS_PENDING ||
           (order->record.status == STATUS_CONFIRMED && order->kind == ORDER_CANCEL);
}

bool purchase_cancel_look(struct session *session, struct order *order)
{
    enum pg_status status =
        pg_exec(session->pg, SQL_ORDER_READ, PG_ARGS(pg_uuid(&order->id)), session->work_until_us);

    if (status != PG_OK) {
        purchase_failed(session, order, status, false);
        return false;
    }
    if (pg_rows(session->pg) == 0)
        return purchase_refuse(session, order, ORDER_NOT_FOUND);
    purchase_saw_order(session->pg, order);
    if (order->record.status == order_returned_status(order->kind))
        return purchase_flush_read(session, order, session->work_until_us) &&
               purchase_refuse(session, order, order_returned_outcome(order->kind));
    return may_return(order) || purchase_refuse(session, order, ORDER_NOT_CANCELLABLE);
}

/* A payment, another cancel or a PUT was first: what has become of the order is the answer, whether
 * or not there is time left to try again. */
static bool was_late(struct session *session, struct order *order)
{
    if (order->outcome == ORDER_RETRY)
        purchase_cancel_look(session, order);
    return false;
}

bool purchase_cancel(struct session *session, struct order *order)
{
    return purchase_cancel_by(session, order, purchase_return_stock);
}

bool purchase_cancel_by(struct session *session, struct order *order,
                        enum pg_status (*return_stock)(struct session *, const struct order *,
                                                       int64_t epoch))
{
    return purchase_cancel_look(session, order) &&
           purchase_cancel_write(session, order, return_stock);
}

/* The order's row is written by the status that was read. */
static enum pg_status write_status(struct session *session, const struct order *order)
{
    const struct pg_value values[] = {pg_uuid(&order->id), pg_int8(order->record.epoch),
                                      pg_int8(order->record.status)};

    return order->kind == ORDER_EXPIRE
               ? pg_exec(session->pg, SQL_ORDER_EXPIRE, values, 2, session->work_until_us)
               : pg_exec(session->pg, SQL_ORDER_CANCEL, values, 3, session->work_until_us);
}

bool purchase_cancel_write(struct session *session, struct order *order,
                           enum pg_status (*return_stock)(struct session *, const struct order *,
                                                          int64_t epoch))
{
    int64_t epoch = order->record.epoch;

    session_work_pause(session);
    pg_begin(session->pg);
    enum pg_status status = return_stock(session, order, epoch);
    if (status == PG_TIMEOUT && clock_mono_us() < session->work_until_us) {
        purchase_waited(order);
        return purchase_refuse(session, order, order->outcome);
    }
    if (status == PG_OK && pg_affected(session->pg) == 0) {
        purchase_overtaken(session, order, MISSED_PRODUCT);
        return was_late(session, order);
    }
    session->has_row = status == PG_OK;
    if (status == PG_OK)
        status = pg_exec(session->pg, SQL_PURCHASE_RETURN,
                         PG_ARGS(pg_int8(order->product_id), pg_int8(order->user_id),
                                 pg_int8(epoch), pg_int8(order->quantity)),
                         session->work_until_us);
    if (status == PG_OK)
        status = write_status(session, order);
    if (status == PG_OK && pg_affected(session->pg) == 0) {
        /* Of a hold the time alone says whether it is over, and that is PostgreSQL's clock's. */
        if (order->kind == ORDER_EXPIRE)
            purchase_refuse(session, order, ORDER_RETRY);
        else
            purchase_missed(session, order, MISSED_ORDER, "orders");
        return was_late(session, order);
    }
    bool committing = status == PG_OK;
    if (committing)
        status = pg_commit(session->pg, session->work_until_us);
    if (status != PG_OK) {
        purchase_failed(session, order, status, committing);
        return false;
    }
    order->record.status = order_returned_status(order->kind);
    order->outcome = order_returned_outcome(order->kind);
    return true;
}
