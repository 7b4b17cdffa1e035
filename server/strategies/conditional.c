/*
 * conditional: the decision and the write are one statement.
 *
 * UPDATE … SET stock = stock - q WHERE stock >= q takes the row's lock and looks at its newest
 * figure, so there is no gap to protect. Where the product has no limit and the order no key, the
 * same statement feeds the order's INSERT: one round trip, one flush. Otherwise a short transaction
 * writes product, limit and order and rolls back when any of them matches no row; two halves of one
 * statement would not undo each other.
 *
 * It cannot oversell, whatever else fails; it is the baseline that every lock is compared with, and
 * what body=guarded runs under one. 0 rows has many reasons: the row is read again to say which. A
 * lost reply of the one statement leaves it unknown whether it ran; it is settled by the order's
 * id. The statement names the sale (fast_path.h), so a product's first order in a process, and the
 * first after a PUT, learns that on the longer way.
 */
#include "postgres/fast_path.h"
#include "sale/purchase.h"
#include "strategies/strategies.h"

/* The conditional UPDATE matched no row: say why. */
static void explain(struct session *session, struct order *order, struct product_row *row)
{
    if (!purchase_read(session, order, SQL_PRODUCT_READ, session->work_until_us, row))
        return;
    fast_path_note(session->pg, order->product_id, row->epoch, row->limit_per_user == NO_LIMIT);
    if (purchase_allowed(session, order, row))
        order->outcome = ORDER_RETRY; /* there is stock now: it came in between */
}

static bool fits_one_statement(const struct session *session, const struct order *order)
{
    return purchase_is_simple(session, order) &&
           fast_path_epoch(session->pg, order->product_id) != 0 &&
           fast_path_fits(session->pg, order->product_id);
}

/* The one statement matched no row. False: a limit or another sale; a transaction has to decide. */
static bool sell_missed(struct session *session, struct order *order, int64_t epoch)
{
    struct product_row row = {.limit_per_user = NO_LIMIT, .epoch = epoch};

    explain(session, order, &row);
    return row.limit_per_user == NO_LIMIT && row.epoch == epoch;
}

static bool sell_at_once(struct session *session, struct order *order)
{
    int64_t epoch = fast_path_epoch(session->pg, order->product_id);

    return purchase_at_once(session, order, SQL_CONDITIONAL_BUY, epoch, NULL, 0) ||
           sell_missed(session, order, epoch);
}

static bool take_stock(struct session *session, struct order *order, struct product_row *row)
{
    int64_t until_us = purchase_row_deadline(session, order);
    enum sql statement = order->kind == ORDER_RESTOCK ? SQL_STOCK_ADD : SQL_STOCK_TAKE;

    if (!purchase_run(session, order, statement,
                      PG_ARGS(pg_int8(order->product_id), pg_int8(order->quantity)), until_us))
        return false;
    if (pg_rows(session->pg) == 1) {
        purchase_row(session->pg, row);
        fast_path_note(session->pg, order->product_id, row->epoch, row->limit_per_user == NO_LIMIT);
        return true;
    }
    pg_rollback(session->pg, session->work_until_us);
    explain(session, order, row);
    return false;
}

static void sell_in_steps(struct session *session, struct order *order)
{
    struct product_row row;

    pg_begin(session->pg);
    if (order->no_wait &&
        !purchase_read(session, order, SQL_PRODUCT_LOCK_NOWAIT, session->work_until_us, &row))
        return;
    if (!take_stock(session, order, &row))
        return;
    session_work_pause(session);
    purchase_finish(session, order, &row);
}

void body_guarded(struct session *session, struct order *order)
{
    if (order->kind == ORDER_CANCEL)
        purchase_cancel(session, order);
    else if (!fits_one_statement(session, order) || !sell_at_once(session, order))
        sell_in_steps(session, order);
}

/* Sells this order and the orders right behind it that one statement can sell, in a pipeline: while
 * PostgreSQL answers one statement the next is on its way, each its own transaction. Orders whose
 * statement matched no row are explained once the pipeline is empty. */
static void sell_pipelined(struct session *session, struct order *order)
{
    int64_t epoch = fast_path_epoch(session->pg, order->product_id);
    struct order *missed[PIPELINE_ORDERS_MAX];
    int count = 0;
    bool lost = false;

    for (struct order *next; order; order = next) {
        next = order->next;
        if (lost || !next || !fits_one_statement(session, next) || !purchase_has_time(session))
            next = NULL;
        else
            purchase_pipeline_at_once(session, next, epoch);
        if (!purchase_at_once(session, order, SQL_CONDITIONAL_BUY, epoch, NULL, 0))
            missed[count++] = order;
        purchase_limit_wait(session);
        lost = order->outcome == ORDER_UNSETTLED;
    }
    /* A missed order has written nothing: those that name an epoch of before a PUT come again. */
    for (int i = 0;
         i < count && (i == 0 || (purchase_has_time(session) &&
                                  fast_path_epoch(session->pg, missed[i]->product_id) == epoch));
         i++) {
        pg_connect(session->pg, session->work_until_us); /* one of the others may have lost it */
        if (!sell_missed(session, missed[i], epoch))
            sell_in_steps(session, missed[i]);
    }
}

static void sell_from(struct session *session, struct order *order)
{
    if (fits_one_statement(session, order))
        sell_pipelined(session, order);
    else
        body_guarded(session, order);
}

static void conditional_sell(struct session *session, struct batch *batch)
{
    purchase_each(session, batch, sell_from);
}

const struct strategy strategy_conditional = {
    .name = "conditional",
    .summary = "One conditional UPDATE decides and writes at once. The baseline of every lock.",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    .pipelined = true,
    .mixes = true,
    .lane = {.in_flight_per_product = 1, .workers = 16, .max_batch = PIPELINE_ORDERS_MAX},
    .sell = conditional_sell,
};
