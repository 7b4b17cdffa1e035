/*
 * pipelined: `conditional`'s one statement for each order, many of them under way at once, and one
 * flush for all.
 *
 * Up to 128 waiting orders of a product are sent behind one another, each its own transaction, and
 * committed without waiting for the log (sale/flusher.h). So the row is held for as long as
 * PostgreSQL needs to write it, not for a round trip and a flush. The answers wait for one flush,
 * during which the next orders are already under way. Nothing is merged: an order that fails does
 * not touch another.
 *
 * It cannot oversell: each statement decides on the row itself. A crash loses no order that was
 * answered; what was committed and not yet flushed is undone, and nobody has heard of it. Orders
 * that one statement cannot sell (a key, a limit, a hold, wait_ms=0), cancels and restocks go one
 * by one, as `conditional`'s. What makes an order wait is another holder of the row: the run ends
 * there, and those that it did not begin come again.
 *
 * Sources: PostgreSQL documentation, libpq, "Pipeline Mode"; DeWitt et al. 1984 and Johnson et al.
 * 2010, see sale/flusher.h.
 */
#include "base/clock.h"
#include "postgres/fast_path.h"
#include "sale/body/body_guarded.h"
#include "sale/turns.h"
#include "strategies/strategies.h"

/* RUN_US: in which orders are begun, since none of a run is answered before its end. RUN_WAIT_MS:
 * for the row; those that are under way wait as long, each in turn. */
enum { RUN_MAX = 128, RUN_US = 8000, RUN_WAIT_MS = 20 };

/* The orders of one batch: those of the run, and those that go one by one. */
struct parts {
    struct order *run[RUN_MAX];
    struct order *others[RUN_MAX];
    int run_count;
    int other_count;
};

static void part(const struct session *session, const struct batch *batch, struct parts *parts)
{
    parts->run_count = parts->other_count = 0;
    for (struct order *order = batch->orders; order; order = order->next)
        if (body_guarded_fits(session, order))
            parts->run[parts->run_count++] = order;
        else
            parts->others[parts->other_count++] = order;
}

/* None of them matched the row: one look at it says why. Those that it does not decide, because of
 * a limit, a hold, another sale or buckets, go one by one. */
static void explain(struct session *session, struct order **missed, int count, int64_t epoch,
                    struct parts *parts)
{
    struct product_row row;

    if (count == 0 ||
        !purchase_read(session, missed[0], SQL_PRODUCT_READ, session->work_until_us, &row))
        return;
    fast_path_note(session->pg, missed[0]->product_id, row.epoch, purchase_row_is_simple(&row));
    for (int i = 0; i < count; i++) {
        purchase_saw(missed[i], &row);
        if (!purchase_row_is_simple(&row) || row.epoch != epoch || row.split)
            parts->others[parts->other_count++] = missed[i];
        else if (purchase_allowed(session, missed[i], &row))
            purchase_missed(session, missed[i], row.version, "product"); /* stock came in between */
    }
}

static void sell_run(struct session *session, struct parts *parts)
{
    struct pg_value values[RUN_MAX][PURCHASE_VALUES];
    struct pg_command commands[RUN_MAX];
    struct pg_each ends[RUN_MAX];
    struct order *missed[RUN_MAX];
    int missed_count = 0;
    int64_t epoch = purchase_epoch(session, parts->run[0]->product_id);

    for (int i = 0; i < parts->run_count; i++) {
        purchase_at_once_values(parts->run[i], epoch, values[i]);
        commands[i] = (struct pg_command){SQL_CONDITIONAL_BUY, values[i], PURCHASE_VALUES};
    }
    purchase_many_may_wait(session, parts->run, parts->run_count, RUN_WAIT_MS);
    int sent = pg_exec_each(session->pg, commands, parts->run_count, ends, clock_mono_us() + RUN_US,
                            session->work_until_us);
    for (int i = 0; i < sent; i++)
        if (!purchase_at_once_ended(session, parts->run[i], ends[i].status, ends[i].affected))
            missed[missed_count++] = parts->run[i];
    explain(session, missed, missed_count, epoch, parts);
}

static void pipelined_sell(struct session *session, struct batch *batch)
{
    struct parts parts;

    part(session, batch, &parts);
    if (parts.run_count > 0)
        sell_run(session, &parts);
    purchase_one_by_one(session, parts.others, parts.other_count);
}

const struct strategy strategy_pipelined = {
    .name = "pipelined",
    .summary = "conditional's statement in a pipeline; locks are free before one flush for many.",
    .summary_zh = "流水线：conditional 的语句接连发出，刷盘之前就放开行锁，许多单共用一次刷盘",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    .mixes = true,
    .shared_flush = true,
    .lane = {.in_flight_per_product = 1, .workers = 16, .max_batch = RUN_MAX},
    .buy = body_guarded, /* one that goes alone */
    .sell = pipelined_sell,
};
