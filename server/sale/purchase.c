/*
 * Each step runs one statement and gives the order its outcome when that says no. purchase_failed
 * is the one place where what PostgreSQL said becomes an outcome.
 */
#include "sale/purchase.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "postgres/catalog.h"
#include "postgres/fast_path.h"

enum { ROW_TIMEOUT_US = 200000 };

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
        purchase_waited(order);
        order->waits_alone |= session->has_row;
        outcome = order->outcome;
        break;
    case PG_OK:
    case PG_BUG:
    case PG_UNIQUE: /* keys have ON CONFLICT; an id comes twice only by a bug */
        log_error("order %s: %s", id, pg_error(session->pg)->text);
        outcome = ORDER_INTERNAL_ERROR;
        break;
    case PG_REFUSED:
    case PG_WITHHELD:
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
    order->waited |= status == PG_WITHHELD; /* a withheld row is like a locked one */
    purchase_refuse(session, order, outcome);
}

bool purchase_flush_read(struct session *session, struct order *order, int64_t until_us)
{
    char id[UUID_TEXT_LENGTH + 1];

    if (!store_waits(services_store(session->services)) ||
        pg_flush_log(session->pg, until_us) == PG_OK)
        return true;
    uuid_format(&order->id, id);
    log_warn("order %s: what it repeats may be on no synchronous standby: %s", id,
             pg_error(session->pg)->text);
    order->outcome = ORDER_OUTCOME_UNKNOWN;
    return false;
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
        .early = pg_get_bool(pg, i, 6),
        .hold_s = pg_is_null(pg, i, 7) ? NO_HOLD : pg_get_int8(pg, i, 7),
        .now_us = pg_get_time(pg, i, 8),
    };
}

void purchase_saw(struct order *order, const struct product_row *row)
{
    order->early |= row->early;
    order->seen = (struct product_version){row->epoch, row->split ? 0 : row->version};
}

void purchase_saw_order(const struct pg *pg, struct order *order)
{
    bool early = order_record_read(pg, 0, &order->record);

    /* Where it ends unknown, this is the order that there is to ask for. */
    order->id = order->record.id;
    order->early |= early;
    if (early)
        order->seen.version = 0;
}

void purchase_row(const struct pg *pg, struct order *order, struct product_row *row)
{
    purchase_row_at(pg, 0, row);
    order->early |= row->early;
}

void purchase_may_wait(struct session *session, const struct order *order)
{
    int64_t until_us = order->no_wait ? order->arrived_us : order->wait_until_us;
    int64_t most_ms = session->lock_most_ms;

    /* Such a one keeps no other waiting: it comes again. */
    if (order->waits_alone && most_ms > PURCHASE_FEWER_WAIT_MS)
        most_ms = PURCHASE_FEWER_WAIT_MS;
    session->has_row = false;
    pg_lock_until(session->pg, until_us, most_ms);
}

const struct order *purchase_many_may_wait(struct session *session, struct order **orders,
                                           int count, int64_t most_ms)
{
    const struct order *first = orders[0];
    int64_t of_one_ms = session->lock_most_ms;

    for (int i = 1; i < count; i++)
        if (orders[i]->wait_until_us < first->wait_until_us)
            first = orders[i];
    if (count > 1 && most_ms < of_one_ms)
        session->lock_most_ms = most_ms;
    purchase_may_wait(session, first);
    session->lock_most_ms = of_one_ms;
    return first;
}

void purchase_waited(struct order *order)
{
    order->waited = true;
    order->if_not_done = ORDER_LOCK_TIMEOUT;
    order->outcome = order->wait_until_us <= clock_mono_us() ? ORDER_LOCK_TIMEOUT : ORDER_RETRY;
}

bool purchase_run(struct session *session, struct order *order, enum sql statement,
                  const struct pg_value *values, int count, int64_t until_us)
{
    enum pg_status status = pg_exec(session->pg, statement, values, count, until_us);

    if (status == PG_TIMEOUT && until_us < session->work_until_us) {
        purchase_waited(order);
        return purchase_refuse(session, order, order->outcome);
    }
    if (status != PG_OK)
        purchase_failed(session, order, status, false);
    return status == PG_OK;
}

int64_t purchase_row_deadline(const struct session *session, const struct order *order)
{
    int64_t now_us = clock_mono_us();
    int64_t until_us = order->wait_until_us > now_us ? order->wait_until_us : now_us;

    return clock_earlier(until_us, session->work_until_us - ROW_TIMEOUT_US) + ROW_TIMEOUT_US;
}

int64_t purchase_epoch(const struct session *session, int64_t product_id)
{
    return session->early.marked ? fast_path_early_epoch(session->pg, product_id)
                                 : fast_path_epoch(session->pg, product_id);
}

bool purchase_may_commit(const struct session *session, const struct product_row *row)
{
    return !session->early.marked || row->early;
}

int64_t purchase_hold_until(const struct settings *settings, int64_t asked_s,
                            const struct product_row *row)
{
    int64_t hold_s = row->hold_s == NO_HOLD ? settings->hold_s : row->hold_s;

    if (asked_s != ORDER_HOLD_NOT_SAID)
        hold_s = asked_s;
    return hold_s > 0 ? row->now_us + hold_s * CLOCK_US_PER_S : 0;
}

void purchase_hold(const struct session *session, struct order *order,
                   const struct product_row *row)
{
    order->hold_until_us = purchase_hold_until(session->services->settings, order->hold_s, row);
}

bool purchase_asks_hold(const struct settings *settings, int64_t asked_s)
{
    return asked_s > 0 || (asked_s == ORDER_HOLD_NOT_SAID && settings->hold_s > 0);
}

bool purchase_is_simple(const struct session *session, const struct order *order)
{
    return order->kind == ORDER_BUY && !order->key[0] && !order->no_wait &&
           !purchase_asks_hold(session->services->settings, order->hold_s) &&
           session->services->settings->work_ms == 0 && !pg_in_transaction(session->pg);
}

void purchase_at_once_values(const struct order *order, int64_t epoch,
                             struct pg_value values[PURCHASE_VALUES])
{
    values[0] = pg_uuid(&order->id);
    values[1] = pg_int8(order->product_id);
    values[2] = pg_int8(order->user_id);
    values[3] = pg_int8(order->quantity);
    values[4] = pg_text(order->strategy->name);
    values[5] = pg_time(order->created_us);
    values[6] = pg_int8(epoch);
}

bool purchase_at_once_ended(struct session *session, struct order *order, enum pg_status status,
                            int64_t affected)
{
    if (status == PG_OK && affected == 0)
        return false;
    if (status == PG_OK)
        purchase_confirm(order);
    else
        purchase_failed(session, order, status, true);
    return true;
}

bool purchase_at_once(struct session *session, struct order *order, enum sql statement,
                      int64_t epoch, const struct pg_value *more, int count)
{
    struct pg_value values[PURCHASE_VALUES + PURCHASE_MORE];

    purchase_at_once_values(order, epoch, values);
    for (int i = 0; i < count; i++)
        values[PURCHASE_VALUES + i] = more[i];
    enum pg_status status =
        pg_exec(session->pg, statement, values, PURCHASE_VALUES + count, session->work_until_us);

    return purchase_at_once_ended(session, order, status,
                                  status == PG_OK ? pg_affected(session->pg) : 0);
}

bool purchase_read(struct session *session, struct order *order, enum sql statement,
                   int64_t until_us, struct product_row *row)
{
    if (!purchase_run(session, order, statement, PG_ARGS(pg_int8(order->product_id)), until_us))
        return false;
    if (pg_rows(session->pg) == 0)
        return purchase_refuse(session, order, ORDER_UNKNOWN_PRODUCT);
    purchase_row_at(session->pg, 0, row);
    purchase_saw(order, row);
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
    if (pg_rows(session->pg) == 0)
        return purchase_withheld(session, order, "product");
    /* Whether that was committed the next attempt sees for itself. */
    if (pg_commit(session->pg, session->work_until_us) != PG_OK)
        log_debug("product %lld: folding its buckets: %s", (long long)order->product_id,
                  pg_error(session->pg)->text);
    return false;
}

bool purchase_allowed(struct session *session, struct order *order, const struct product_row *row)
{
    fast_path_note_epoch(session->pg, order->product_id, row->epoch);
    if (!row->open)
        return purchase_refuse(session, order, ORDER_SALE_NOT_OPEN);
    if (row->stock < order->quantity && row->split)
        return fold_buckets(session, order);
    if (row->stock < order->quantity)
        return purchase_refuse(session, order, ORDER_SOLD_OUT);
    return purchase_may_commit(session, row) || purchase_refuse(session, order, ORDER_RETRY);
}

void purchase_confirm(struct order *order)
{
    if (order->kind == ORDER_RESTOCK) {
        order->outcome = ORDER_RESTOCKED;
        return;
    }
    order->outcome = ORDER_CONFIRMED;
    order_fill_record(order, order->strategy->name, STATUS_CONFIRMED);
}

void purchase_found(struct order *order, enum order_status status)
{
    purchase_confirm(order);
    order->record.status = status;
}

bool purchase_end(struct session *session, struct order *order, enum pg_status status)
{
    if (status == PG_OK && pg_affected(session->pg) == 0)
        return order->key[0]
                   ? purchase_refuse(session, order, ORDER_KEY_TAKEN)
                   : purchase_withheld(session, order,
                                       order->kind == ORDER_RESTOCK ? "restock" : "orders");
    bool committing = status == PG_OK;
    if (committing)
        status = pg_commit(session->pg, session->work_until_us);
    if (status == PG_OK)
        purchase_confirm(order);
    else
        purchase_failed(session, order, status, committing);
    return status == PG_OK;
}

bool purchase_unmatched(struct session *session, struct order *order)
{
    struct product_row row;

    return purchase_read(session, order, SQL_PRODUCT_READ, session->work_until_us, &row) &&
           purchase_missed(session, order, row.version, "product");
}

bool purchase_register_fence(struct session *session, struct order *order, int64_t until_us)
{
    if (session->hold.fence && session->hold.fence_opened == pg_opened(session->pg))
        return true;
    if (!purchase_run(session, order, SQL_FENCE_REGISTER, PG_ARGS(pg_int8(order->product_id)),
                      until_us))
        return false;
    if (pg_rows(session->pg) == 0)
        return purchase_unmatched(session, order);
    session->hold.fence = pg_get_int8(session->pg, 0, 0);
    session->hold.fence_opened = pg_opened(session->pg);
    fast_path_note_epoch(session->pg, order->product_id, pg_get_int8(session->pg, 0, 1));
    FAILPOINT("fence.registered");
    return true;
}

bool purchase_withheld(struct session *session, struct order *order, const char *table)
{
    purchase_failed(session, order, pg_withheld(session->pg, table), false);
    return false;
}

bool purchase_missed(struct session *session, struct order *order, int64_t mark, const char *table)
{
    if (order->missed == mark)
        return purchase_withheld(session, order, table);
    order->missed = mark;
    return purchase_refuse(session, order, ORDER_RETRY);
}

bool purchase_overtaken(struct session *session, struct order *order, int64_t mark)
{
    if (!session->hold.fence)
        return purchase_missed(session, order, mark, "product");
    enum pg_status status = pg_exec(session->pg, SQL_FENCE_READ,
                                    PG_ARGS(pg_int8(order->product_id)), session->work_until_us);
    if (status != PG_OK) {
        purchase_failed(session, order, status, false);
        return false;
    }
    bool ours = pg_rows(session->pg) == 1 && pg_get_int8(session->pg, 0, 0) == session->hold.fence;
    return ours ? purchase_missed(session, order, mark, "product")
                : purchase_refuse(session, order, ORDER_LEASE_LOST);
}
