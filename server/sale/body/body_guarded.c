/* See body_guarded.h: the one statement, and the steps. */
#include "sale/body/body_guarded.h"

#include "postgres/fast_path.h"
#include "sale/purchase_write.h"

/* The conditional UPDATE matched no row: say why. */
static void explain(struct session *session, struct order *order, struct product_row *row)
{
    if (!purchase_read(session, order, SQL_PRODUCT_READ, session->work_until_us, row))
        return;
    fast_path_note(session->pg, order->product_id, row->epoch, purchase_row_is_simple(row));
    if (purchase_allowed(session, order, row))
        purchase_missed(session, order, row->version, "product"); /* stock came in between */
}

bool body_guarded_fits(const struct session *session, const struct order *order)
{
    return purchase_is_simple(session, order) && purchase_epoch(session, order->product_id) != 0 &&
           fast_path_fits(session->pg, order->product_id);
}

/* The one statement matched no row. False: a limit, a hold or another sale; a transaction has to
 * decide. */
static bool sell_missed(struct session *session, struct order *order, int64_t epoch)
{
    struct product_row row = {.limit_per_user = NO_LIMIT, .hold_s = NO_HOLD, .epoch = epoch};

    explain(session, order, &row);
    return purchase_row_is_simple(&row) && row.epoch == epoch;
}

static bool sell_at_once(struct session *session, struct order *order)
{
    int64_t epoch = purchase_epoch(session, order->product_id);

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
        fast_path_note(session->pg, order->product_id, row->epoch, purchase_row_is_simple(row));
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
    if (!body_guarded_fits(session, order) || !sell_at_once(session, order))
        sell_in_steps(session, order);
}
