/* See body_guarded.h: the one statement, alone or in a pipeline, and the steps. */
#include "sale/body/body_guarded.h"

#include "postgres/fast_path.h"
#include "sale/purchase_write.h"
#include "sale/turns.h"

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
    if (!purchase_run(session, order, SQL_STOCK_TAKE,
                      PG_ARGS(pg_int8(order->product_id), pg_int8(order->quantity)),
                      purchase_row_deadline(session, order)))
        return false;
    if (pg_rows(session->pg) == 1) {
        purchase_row(session->pg, order, row);
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
    if (!fits_one_statement(session, order) || !sell_at_once(session, order))
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

void body_guarded_pipelined(struct session *session, struct order *order)
{
    if (fits_one_statement(session, order))
        sell_pipelined(session, order);
    else
        body_guarded(session, order);
}
