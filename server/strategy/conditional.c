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
 * id.
 */
#include "base/clock.h"
#include "strategy/purchase.h"
#include "strategy/strategies.h"

/* What a statement that can only wait for the row is allowed beyond the order's wait, so that a
 * short wait does not cost a session. */
enum { ROW_PATIENCE_US = 200000 };

/* The conditional UPDATE matched no row: say why. */
static void explain(struct session *session, struct order *order, struct product_row *row)
{
    if (purchase_read(session, order, SQL_PRODUCT_READ, session->work_until_us, row) &&
        purchase_allowed(session, order, row))
        order->outcome = ORDER_RETRY; /* there is stock now: it came in between */
}

static int64_t row_deadline(const struct session *session, const struct order *order)
{
    int64_t patience_us = clock_mono_us() + ROW_PATIENCE_US;
    int64_t until_us = order->wait_until_us > patience_us ? order->wait_until_us : patience_us;

    return until_us < session->work_until_us ? until_us : session->work_until_us;
}

/* False: the product has a limit, so the transaction has to decide. */
static bool sell_at_once(struct session *session, struct order *order)
{
    struct product_row row = {.limit_per_user = NO_LIMIT};
    int64_t until_us = row_deadline(session, order);
    enum pg_status status =
        pg_exec(session->pg, SQL_CONDITIONAL_BUY,
                PG_ARGS(pg_uuid(&order->id), pg_int8(order->product_id), pg_int8(order->user_id),
                        pg_int8(order->quantity), pg_text(order->strategy->name),
                        pg_time(order->created_us)),
                until_us);

    if (status != PG_OK) {
        purchase_failed(session, order, status, true);
        if (status == PG_TIMEOUT && until_us < session->work_until_us)
            order->if_not_done = ORDER_LOCK_TIMEOUT;
        return true;
    }
    if (pg_affected(session->pg) == 1) {
        purchase_confirm(order);
        return true;
    }
    explain(session, order, &row);
    return row.limit_per_user == NO_LIMIT;
}

static bool take_stock(struct session *session, struct order *order, struct product_row *row)
{
    int64_t until_us = row_deadline(session, order);
    enum sql statement = order->kind == ORDER_RESTOCK ? SQL_STOCK_ADD : SQL_STOCK_TAKE;
    enum pg_status status =
        pg_exec(session->pg, statement,
                PG_ARGS(pg_int8(order->product_id), pg_int8(order->quantity)), until_us);

    if (status == PG_TIMEOUT && until_us < session->work_until_us)
        return purchase_refuse(session, order, ORDER_LOCK_TIMEOUT);
    if (status != PG_OK) {
        purchase_failed(session, order, status, false);
        return false;
    }
    if (pg_rows(session->pg) == 1) {
        purchase_row(session->pg, row);
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
    bool one_statement = order->kind == ORDER_BUY && !order->key[0] && !order->no_wait &&
                         session->services->settings->work_ms == 0;

    if (order->kind == ORDER_CANCEL)
        purchase_cancel(session, order, 0);
    else if (!one_statement || !sell_at_once(session, order))
        sell_in_steps(session, order);
}

static void sell(struct session *session, struct batch *batch)
{
    purchase_each(session, batch, body_guarded);
}

const struct strategy strategy_conditional = {
    .name = "conditional",
    .summary = "One conditional UPDATE decides and writes at once. The baseline of every lock.",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    .mixes = true,
    .lane = {.in_flight_per_product = 2, .workers = 16, .max_batch = 1},
    .sell = sell,
};
