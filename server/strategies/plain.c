/*
 * The plain body: SELECT stock; decide; UPDATE … SET stock = <the absolute figure>; insert the
 * order; commit.
 *
 * This is what the seed articles run under their locks. Between the SELECT and the UPDATE nothing
 * in the database protects the figure: two that read the same stock both write "one less", and one
 * sale is lost from the count. It is as safe as the lock around it, no safer.
 *
 * `none` runs it with no protection at all. `local-lock` runs it with one order of a product at a
 * time in this process (the lane is the lock): right with one instance, wrong with two.
 */
#include "base/failpoint.h"
#include "sale/purchase.h"
#include "strategies/strategies.h"

bool body_plain_decide(struct session *session, struct order *order, struct product_row *row)
{
    pg_begin(session->pg);
    if (!purchase_read(session, order, SQL_PRODUCT_READ, session->work_until_us, row) ||
        !purchase_allowed(session, order, row))
        return false;
    FAILPOINT("body.after-read");
    session_work_pause(session);
    return !session_lease_lost(session) || purchase_refuse(session, order, ORDER_LEASE_LOST);
}

void body_plain(struct session *session, struct order *order)
{
    struct product_row row;

    if (order->kind == ORDER_CANCEL)
        purchase_cancel(session, order);
    else if (body_plain_decide(session, order, &row))
        purchase_write(session, order, &row);
}

static void sell_plain(struct session *session, struct batch *batch)
{
    purchase_each(session, batch, body_plain);
}

static void sell_one_by_body(struct session *session, struct order *order)
{
    if (order->body == BODY_GUARDED)
        body_guarded(session, order);
    else
        body_plain(session, order);
}

void body_sell_chosen(struct session *session, struct batch *batch)
{
    purchase_each(session, batch, sell_one_by_body);
}

const struct strategy strategy_none = {
    .name = "none",
    .summary = "No protection: read the stock, decide, write it back. Kept to show the race.",
    .family = FAMILY_NOTHING,
    .needs = NEED_POSTGRESQL,
    .lane = {.workers = 16, .max_batch = 1},
    .sell = sell_plain,
};

const struct strategy strategy_local_lock = {
    .name = "local-lock",
    .summary =
        "A lock in this process: one order of a product at a time. Wrong with two instances.",
    .family = FAMILY_NOTHING,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE,
    .bodies = true,
    .lane = {.in_flight_per_product = 1, .keyed = true, .workers = 16, .max_batch = 1},
    .sell = body_sell_chosen,
};
