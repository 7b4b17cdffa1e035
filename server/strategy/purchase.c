/*
 * Each step runs one statement and gives the order its outcome when that says no. purchase_failed
 * is the one place where what PostgreSQL said becomes an outcome.
 */
#include "strategy/purchase.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "store/records.h"

#include <stdio.h>

enum { ROW_PATIENCE_US = 200000 };

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

void purchase_row_at(const struct pg *pg, int i, struct product_row *row)
{
    *row = (struct product_row){
        .stock = pg_get_int8(pg, i, 0),
        .epoch = pg_get_int8(pg, i, 1),
        .version = pg_get_int8(pg, i, 2),
        .limit_per_user = pg_is_null(pg, i, 3) ? NO_LIMIT : pg_get_int8(pg, i, 3),
        .open = pg_get_bool(pg, i, 4),
        .split = pg_get_bool(pg, i, 5),
    };
}

void purchase_row(const struct pg *pg, struct product_row *row)
{
    purchase_row_at(pg, 0, row);
}

void purchase_waited(struct order *order)
{
    order->outcome = order->wait_until_us <= clock_mono_us() ? ORDER_LOCK_TIMEOUT : ORDER_RETRY;
}

bool purchase_run(struct session *session, struct order *order, enum sql statement,
                  const struct pg_value *values, int count, int64_t until_us)
{
    enum pg_status status = pg_exec(session->pg, statement, values, count, until_us);

    if (status == PG_TIMEOUT && until_us < session->work_until_us)
        return purchase_refuse(session, order, ORDER_LOCK_TIMEOUT);
    if (status != PG_OK)
        purchase_failed(session, order, status, false);
    return status == PG_OK;
}

int64_t purchase_row_deadline(const struct session *session, const struct order *order)
{
    int64_t patience_us = clock_mono_us() + ROW_PATIENCE_US;
    int64_t until_us = order->wait_until_us > patience_us ? order->wait_until_us : patience_us;

    return until_us < session->work_until_us ? until_us : session->work_until_us;
}

bool purchase_is_simple(const struct session *session, const struct order *order)
{
    return order->kind == ORDER_BUY && !order->key[0] && !order->no_wait &&
           session->services->settings->work_ms == 0 && !pg_in_transaction(session->pg);
}

bool purchase_at_once(struct session *session, struct order *order, enum sql statement,
                      int64_t bucket)
{
    const struct pg_value values[] = {
        pg_uuid(&order->id),      pg_int8(order->product_id),     pg_int8(order->user_id),
        pg_int8(order->quantity), pg_text(order->strategy->name), pg_time(order->created_us),
        pg_int8(bucket)};
    int count = (int)(sizeof values / sizeof *values) - (bucket == NO_BUCKET);
    int64_t until_us = purchase_row_deadline(session, order);
    enum pg_status status = pg_exec(session->pg, statement, values, count, until_us);

    if (status == PG_OK && pg_affected(session->pg) == 0)
        return false;
    if (status == PG_OK) {
        purchase_confirm(order);
        return true;
    }
    purchase_failed(session, order, status, true);
    if (status == PG_TIMEOUT && until_us < session->work_until_us)
        order->if_not_done = ORDER_LOCK_TIMEOUT;
    return true;
}

bool purchase_read(struct session *session, struct order *order, enum sql statement,
                   int64_t until_us, struct product_row *row)
{
    if (!purchase_run(session, order, statement, PG_ARGS(pg_int8(order->product_id)), until_us))
        return false;
    if (pg_rows(session->pg) == 0)
        return purchase_refuse(session, order, ORDER_UNKNOWN_PRODUCT);
    purchase_row(session->pg, row);
    return true;
}

/* Brings the buckets' units back into the row, which alone this strategy decides on. */
static bool fold_buckets(struct session *session, struct order *order)
{
    int64_t until_us = purchase_row_deadline(session, order);
    struct product_row row;

    purchase_refuse(session, order, ORDER_RETRY);
    pg_begin(session->pg);
    if (!purchase_read(session, order, SQL_PRODUCT_LOCK, until_us, &row) ||
        !purchase_run(session, order, SQL_STOCK_FOLD,
                      PG_ARGS(pg_int8(order->product_id), pg_int8(row.epoch)), until_us))
        return false;
    /* Whether that was committed the next attempt sees for itself. */
    if (pg_commit(session->pg, session->work_until_us) != PG_OK)
        log_debug("product %lld: folding its buckets: %s", (long long)order->product_id,
                  pg_error(session->pg)->text);
    return false;
}

bool purchase_allowed(struct session *session, struct order *order, const struct product_row *row)
{
    if (order->kind == ORDER_RESTOCK)
        return true;
    if (!row->open)
        return purchase_refuse(session, order, ORDER_SALE_NOT_OPEN);
    if (row->stock < order->quantity && row->split)
        return fold_buckets(session, order);
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
    if (!purchase_run(session, order, SQL_PURCHASE_ADD,
                      PG_ARGS(pg_int8(order->product_id), pg_int8(order->user_id),
                              pg_int8(row->epoch), pg_int8(order->quantity),
                              pg_int8(row->limit_per_user)),
                      session->work_until_us))
        return false;
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

bool purchase_register_fence(struct session *session, struct order *order, int64_t until_us)
{
    if (session->hold.fence)
        return true;
    if (!purchase_run(session, order, SQL_FENCE_REGISTER, PG_ARGS(pg_int8(order->product_id)),
                      until_us))
        return false;
    if (pg_rows(session->pg) == 0)
        return purchase_refuse(session, order, ORDER_UNKNOWN_PRODUCT);
    session->hold.fence = pg_get_int8(session->pg, 0, 0);
    FAILPOINT("fence.registered");
    return true;
}

bool purchase_overtaken(struct session *session, struct order *order)
{
    if (!session->hold.fence)
        return purchase_refuse(session, order, ORDER_RETRY);
    enum pg_status status = pg_exec(session->pg, SQL_FENCE_READ,
                                    PG_ARGS(pg_int8(order->product_id)), session->work_until_us);
    if (status != PG_OK) {
        purchase_failed(session, order, status, false);
        return false;
    }
    bool ours = pg_rows(session->pg) == 1 && pg_get_int8(session->pg, 0, 0) == session->hold.fence;
    return purchase_refuse(session, order, ours ? ORDER_RETRY : ORDER_LEASE_LOST);
}

enum pg_status purchase_return_stock(struct session *session, const struct order *order,
                                     int64_t epoch)
{
    int64_t fence = session->hold.fence;
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

bool purchase_cancel(struct session *session, struct order *order)
{
    return purchase_cancel_by(session, order, purchase_return_stock);
}

bool purchase_cancel_by(struct session *session, struct order *order,
                        enum pg_status (*return_stock)(struct session *, const struct order *,
                                                       int64_t epoch))
{
    int64_t epoch = 0;

    if (!read_order(session, order, &epoch))
        return false;
    session_work_pause(session);
    pg_begin(session->pg);
    enum pg_status status = return_stock(session, order, epoch);
    if (status == PG_OK && pg_affected(session->pg) == 0)
        return purchase_overtaken(session, order);
    if (status == PG_OK)
        status = pg_exec(session->pg, SQL_PURCHASE_RETURN,
                         PG_ARGS(pg_int8(order->product_id), pg_int8(order->user_id),
                                 pg_int8(epoch), pg_int8(order->quantity), pg_uuid(&order->id)),
                         session->work_until_us);
    if (status == PG_OK)
        status = pg_exec(session->pg, SQL_ORDER_CANCEL,
                         PG_ARGS(pg_uuid(&order->id), pg_int8(epoch)), session->work_until_us);
    if (status == PG_OK && pg_affected(session->pg) == 0) /* another cancel was first */
        return purchase_refuse(session, order, ORDER_RETRY);
    bool committing = status == PG_OK;
    if (committing)
        status = pg_commit(session->pg, session->work_until_us);
    if (status != PG_OK) {
        purchase_failed(session, order, status, committing);
        return false;
    }
    order->record.status = STATUS_CANCELLED;
    order->outcome = ORDER_CANCELLED;
    return true;
}
