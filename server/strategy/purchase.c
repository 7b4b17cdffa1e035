#include "strategy/purchase.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/records.h"

#include <stdio.h>

void purchase_each(struct session *session, struct batch *batch,
                   void (*sell_one)(struct session *, struct order *))
{
    for (struct order *order = batch->orders; order; order = order->next)
        sell_one(session, order);
}

bool purchase_refuse(struct session *session, struct order *order, enum order_outcome outcome)
{
    order->outcome = outcome;
    pg_rollback(session->pg, session->work_until_us);
    return false;
}

void purchase_failed(struct session *session, struct order *order, enum pg_status status,
                     bool committing)
{
    enum order_outcome outcome = ORDER_BACKEND_UNAVAILABLE;
    char id[UUID_TEXT_LENGTH + 1];

    uuid_format(&order->id, id);
    switch (status) {
    case PG_CONFLICT:
        outcome = ORDER_RETRY;
        break;
    case PG_BUSY:
        outcome = ORDER_LOCK_TIMEOUT;
        break;
    case PG_OK:
    case PG_BUG:
    case PG_UNIQUE: /* keys have ON CONFLICT; an id comes twice only by a bug */
        log_error("order %s: %s", id, pg_error(session->pg)->text);
        outcome = ORDER_INTERNAL_ERROR;
        break;
    case PG_FAILED:
        log_warn("order %s: %s", id, pg_error(session->pg)->text);
        break;
    case PG_TIMEOUT:
    case PG_LOST:
        log_warn("order %s: %s", id, pg_error(session->pg)->text);
        if (committing) {
            outcome = ORDER_UNSETTLED;
            order->if_not_done = ORDER_BACKEND_UNAVAILABLE;
        }
        break;
    }
    purchase_refuse(session, order, outcome);
}

void purchase_row(const struct pg *pg, struct product_row *row)
{
    *row = (struct product_row){
        .stock = pg_get_int8(pg, 0, 0),
        .epoch = pg_get_int8(pg, 0, 1),
        .version = pg_get_int8(pg, 0, 2),
        .limit_per_user = pg_is_null(pg, 0, 3) ? NO_LIMIT : pg_get_int8(pg, 0, 3),
        .open = pg_get_bool(pg, 0, 4),
    };
}

bool purchase_read(struct session *session, struct order *order, enum sql statement,
                   int64_t until_us, struct product_row *row)
{
    enum pg_status status =
        pg_exec(session->pg, statement, PG_ARGS(pg_int8(order->product_id)), until_us);

    if (status == PG_TIMEOUT && until_us < session->work_until_us)
        return purchase_refuse(session, order, ORDER_LOCK_TIMEOUT);
    if (status != PG_OK) {
        purchase_failed(session, order, status, false);
        return false;
    }
    if (pg_rows(session->pg) == 0)
        return purchase_refuse(session, order, ORDER_UNKNOWN_PRODUCT);
    purchase_row(session->pg, row);
    return true;
}

bool purchase_allowed(struct session *session, struct order *order, const struct product_row *row)
{
    if (order->kind == ORDER_RESTOCK)
        return true;
    if (!row->open)
        return purchase_refuse(session, order, ORDER_SALE_NOT_OPEN);
    if (row->stock < order->quantity)
        return purchase_refuse(session, order, ORDER_SOLD_OUT);
    return true;
}

int64_t purchase_stock_after(const struct order *order, const struct product_row *row)
{
    return order->kind == ORDER_RESTOCK ? row->stock + order->quantity
                                        : row->stock - order->quantity;
}

void purchase_confirm(struct order *order)
{
    if (order->kind == ORDER_RESTOCK) {
        order->outcome = ORDER_RESTOCKED;
        return;
    }
    order->outcome = ORDER_CONFIRMED;
    order->record = (struct order_record){
        .id = order->id,
        .product_id = order->product_id,
        .user_id = order->user_id,
        .quantity = order->quantity,
        .status = STATUS_CONFIRMED,
        .created_us = order->created_us,
    };
    snprintf(order->record.strategy, sizeof order->record.strategy, "%s", order->strategy->name);
}

/* The user's share of the limit; the condition is the statement's own. */
static bool take_limit(struct session *session, struct order *order, const struct product_row *row)
{
    if (row->limit_per_user == NO_LIMIT)
        return true;
    enum pg_status status =
        pg_exec(session->pg, SQL_PURCHASE_ADD,
                PG_ARGS(pg_int8(order->product_id), pg_int8(order->user_id), pg_int8(row->epoch),
                        pg_int8(order->quantity), pg_int8(row->limit_per_user)),
                session->work_until_us);
    if (status != PG_OK) {
        purchase_failed(session, order, status, false);
        return false;
    }
    return pg_affected(session->pg) == 1 || purchase_refuse(session, order, ORDER_LIMIT_REACHED);
}

/* Without a key the row either is written or an error ends the transaction, so COMMIT rides along;
 * and so does `before`, a write that cannot miss its row (NULL: none). */
static enum pg_status insert_and_commit(struct session *session, const struct order *order,
                                        const struct product_row *row,
                                        const struct pg_command *before)
{
    const struct pg_value values[] = {pg_uuid(&order->id),       pg_int8(order->product_id),
                                      pg_int8(row->epoch),       pg_int8(order->user_id),
                                      pg_int8(order->quantity),  pg_text(order->strategy->name),
                                      pg_time(order->created_us)};
    struct pg_command commands[2];
    int n = 0;

    if (before)
        commands[n++] = *before;
    commands[n++] = (struct pg_command){SQL_ORDER_INSERT, values, sizeof values / sizeof values[0]};
    return pg_exec_commit(session->pg, commands, n, session->work_until_us);
}

static enum pg_status insert_keyed(struct session *session, const struct order *order,
                                   const struct product_row *row)
{
    if (order->kind == ORDER_RESTOCK)
        return pg_exec(session->pg, SQL_RESTOCK_INSERT,
                       PG_ARGS(pg_uuid(&order->id), pg_int8(order->product_id), pg_int8(row->epoch),
                               pg_int8(order->quantity), pg_text(order->strategy->name),
                               pg_time(order->created_us),
                               pg_text(order->key[0] ? order->key : NULL)),
                       session->work_until_us);
    return pg_exec(session->pg, SQL_ORDER_INSERT_KEYED,
                   PG_ARGS(pg_uuid(&order->id), pg_int8(order->product_id), pg_int8(row->epoch),
                           pg_int8(order->user_id), pg_int8(order->quantity),
                           pg_text(order->strategy->name), pg_time(order->created_us),
                           pg_text(order->key)),
                   session->work_until_us);
}

void purchase_finish(struct session *session, struct order *order, const struct product_row *row)
{
    enum pg_status status;
    bool committing = true;

    if (order->kind == ORDER_BUY && !take_limit(session, order, row))
        return;
    if (order->kind == ORDER_BUY && !order->key[0]) {
        status = insert_and_commit(session, order, row, NULL);
    } else {
        status = insert_keyed(session, order, row);
        if (status == PG_OK && pg_affected(session->pg) == 0) {
            purchase_refuse(session, order, ORDER_KEY_TAKEN);
            return;
        }
        committing = status == PG_OK;
        if (committing)
            status = pg_commit(session->pg, session->work_until_us);
    }
    if (status == PG_OK)
        purchase_confirm(order);
    else
        purchase_failed(session, order, status, committing);
}

void purchase_write_locked(struct session *session, struct order *order,
                           const struct product_row *row)
{
    const struct pg_value values[] = {pg_int8(order->product_id), pg_int8(row->epoch),
                                      pg_int8(purchase_stock_after(order, row))};
    struct pg_command write = {SQL_STOCK_SET, values, 3};
    enum pg_status status;

    if (order->kind == ORDER_BUY && !order->key[0] && row->limit_per_user == NO_LIMIT) {
        status = insert_and_commit(session, order, row, &write);
        if (status == PG_OK)
            purchase_confirm(order);
        else
            purchase_failed(session, order, status, true);
        return;
    }
    status = pg_exec(session->pg, SQL_STOCK_SET, values, 3, session->work_until_us);
    if (status == PG_OK)
        purchase_finish(session, order, row);
    else
        purchase_failed(session, order, status, false);
}

static enum pg_status return_stock(struct session *session, const struct order *order,
                                   int64_t epoch, int64_t fence)
{
    struct pg_value values[] = {pg_int8(order->product_id), pg_int8(epoch),
                                pg_int8(order->quantity), pg_int8(fence)};

    return fence ? pg_exec(session->pg, SQL_STOCK_RETURN_FENCED, values, 4, session->work_until_us)
                 : pg_exec(session->pg, SQL_STOCK_RETURN, values, 3, session->work_until_us);
}

/* The order's present row in order->record. */
static bool read_order(struct session *session, struct order *order, int64_t *epoch)
{
    enum pg_status status =
        pg_exec(session->pg, SQL_ORDER_READ, PG_ARGS(pg_uuid(&order->id)), session->work_until_us);

    if (status != PG_OK) {
        purchase_failed(session, order, status, false);
        return false;
    }
    if (pg_rows(session->pg) == 0)
        return purchase_refuse(session, order, ORDER_NOT_FOUND);
    order_record_read(session->pg, 0, &order->record);
    *epoch = pg_get_int8(session->pg, 0, ORDER_RECORD_EPOCH);
    if (order->record.status == STATUS_CANCELLED)
        return purchase_refuse(session, order, ORDER_CANCELLED);
    return order->record.status == STATUS_CONFIRMED ||
           purchase_refuse(session, order, ORDER_NOT_CANCELLABLE);
}

void purchase_cancel(struct session *session, struct order *order, int64_t fence)
{
    int64_t epoch = 0;

    if (!read_order(session, order, &epoch))
        return;
    session_work_pause(session);
    pg_begin(session->pg);
    enum pg_status status = return_stock(session, order, epoch, fence);
    if (status == PG_OK && pg_affected(session->pg) == 0) {
        /* A PUT ended the sale, which the next attempt would have read, or a later holder has
         * registered. */
        bool stale = fence && order->attempts > 1;
        purchase_refuse(session, order, stale ? ORDER_LEASE_LOST : ORDER_RETRY);
        return;
    }
    if (status == PG_OK)
        status = pg_exec(session->pg, SQL_PURCHASE_RETURN,
                         PG_ARGS(pg_int8(order->product_id), pg_int8(order->user_id),
                                 pg_int8(epoch), pg_int8(order->quantity), pg_uuid(&order->id)),
                         session->work_until_us);
    if (status == PG_OK)
        status = pg_exec(session->pg, SQL_ORDER_CANCEL,
                         PG_ARGS(pg_uuid(&order->id), pg_int8(epoch)), session->work_until_us);
    if (status == PG_OK && pg_affected(session->pg) == 0) {
        purchase_refuse(session, order, ORDER_RETRY); /* another cancel was first: read it again */
        return;
    }
    bool committing = status == PG_OK;
    if (committing)
        status = pg_commit(session->pg, session->work_until_us);
    if (status != PG_OK) {
        purchase_failed(session, order, status, committing);
        return;
    }
    order->record.status = STATUS_CANCELLED;
    order->outcome = ORDER_CANCELLED;
}
