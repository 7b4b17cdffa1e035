/* See early_release.h: the mark and the ticket before a batch, and what of it still needs a flush
 * after. */
#include "drive/early_release.h"

#include "base/clock.h"
#include "base/log.h"
#include "metrics/cost.h"
#include "postgres/fast_path.h"
#include "sale/flusher.h"
#include "sale/settle.h"
#include "sale/turns.h"

static bool asks_for_it(const struct batch *batch)
{
    for (const struct order *order = batch->orders; order; order = order->next)
        if (order->kind == ORDER_BUY && order->flush != FLUSH_OWN)
            return true;
    return false;
}

/* Makes sure that the rows of all products of the batch say that what is written of them may be
 * undone. */
static bool mark_sales(struct session *session, const struct batch *batch)
{
    struct cost before = cost_of_thread[COST_POSTGRESQL]; /* it is once for a product */
    int64_t ids[SPLIT_MAX];
    int count = 0;

    for (const struct order *order = batch->orders; order; order = order->next)
        if (order->kind == ORDER_BUY && count < SPLIT_MAX &&
            !fast_path_early_epoch(session->pg, order->product_id) &&
            (count == 0 || ids[count - 1] != order->product_id))
            ids[count++] = order->product_id;
    /* Of several one that somebody holds is passed by, and waited for by its own orders alone. */
    enum sql statement = count > 1 ? SQL_MARK_EARLY_FREE : SQL_MARK_EARLY;
    if (count > 0 && pg_exec(session->pg, statement, PG_ARGS(pg_int8s(ids, count)),
                             purchase_row_deadline(session, batch->orders)) != PG_OK) {
        log_debug("no early release: %s", pg_error(session->pg)->text);
        return false;
    }
    cost_of_thread[COST_POSTGRESQL] = before;
    for (int i = 0; count > 0 && i < pg_rows(session->pg); i++)
        fast_path_note_early(session->pg, pg_get_int8(session->pg, i, 0),
                             pg_get_int8(session->pg, i, 1));
    return true;
}

/* Nobody shares its flush, so the way through the flusher would be for nothing. Where many workers
 * sell a product each of them might think so, and hold its row for a flush. */
static bool comes_alone(struct flusher *flusher, const struct batch *batch)
{
    const struct order *first = batch->orders;

    return batch->count == 1 && first->flush == FLUSH_SHARED_UNASKED &&
           first->strategy->lane.all_products && flusher_rests(flusher);
}

bool early_release_connect(struct session *session, const struct batch *batch)
{
    struct flusher *flusher = session->services->flusher;
    struct early *early = &session->early;
    bool asked = asks_for_it(batch);
    bool counts = store_counts(services_store(session->services));

    if (!pg_connect(session->pg, session->work_until_us))
        return false;
    early->opened = pg_opened(session->pg);
    early->ticket = flusher_ticket(flusher, session->pg, asked || counts);
    early->marked =
        asked && early->ticket && !comes_alone(flusher, batch) && mark_sales(session, batch);
    if (pg_is_open(session->pg))
        return true;
    bool connected = pg_connect(session->pg, session->work_until_us);
    *early = (struct early){.opened = pg_opened(session->pg)};
    return connected;
}

/* Whether the answer says something that a crash may yet undo, or that has ceased to be so on a new
 * primary. */
static bool may_be_undone(const struct session *session, const struct order *order)
{
    if (order->outcome == ORDER_CONFIRMED || order->outcome == ORDER_RESTOCKED)
        return (session->early.marked && order->kind == ORDER_BUY) || /* else by its own commit */
               store_counts(services_store(session->services));
    bool told =
        order->outcome != ORDER_ACCEPTED && order_outcome_row(order->outcome)->http_status < 500;
    return told && (order->early || !pg_is_current(session->pg));
}

/* There was no ticket, so nothing was committed early, but read, or is not yet counted. */
static void flush_here(struct session *session, struct batch *batch)
{
    session_begin_work(session);
    if (pg_opened(session->pg) == session->early.opened && pg_is_open(session->pg) &&
        pg_flush_reads(session->pg, session->work_until_us) == PG_OK)
        return;
    for (struct order *order = batch->orders; order; order = order->next)
        if (may_be_undone(session, order))
            flusher_doubt(order);
    settle_batch(session, batch);
}

void early_release_park(struct session *session, struct batch *batch)
{
    /* Where the session is another one now, nothing that was read or committed can be proven. */
    const struct early *early = &session->early;
    unsigned ticket = pg_opened(session->pg) == early->opened ? early->ticket : 0;
    int64_t now_us = clock_mono_us();
    struct order *parked = NULL;
    struct order **end = &parked;

    if (!early->ticket) {
        for (struct order *order = batch->orders; order; order = order->next)
            if (may_be_undone(session, order)) {
                flush_here(session, batch);
                flusher_ticket(session->services->flusher, session->pg, true); /* for the next */
                return;
            }
        return;
    }
    for (struct order **at = &batch->orders; *at;) {
        struct order *order = *at;
        if (!may_be_undone(session, order) ||
            flusher_has_covered(session->services->flusher, order, ticket)) {
            at = &order->next;
            continue;
        }
        *at = order->next;
        order->next = NULL;
        order->ticket = ticket;
        order->work_us -= now_us; /* the flusher adds the end */
        *end = order;
        end = &order->next;
    }
    if (parked)
        flusher_park(session->services->flusher, parked);
}
