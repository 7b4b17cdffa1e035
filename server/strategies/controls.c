/*
 * Controls: strategies with one guard left out, so that a test can show what it was for. Only in
 * builds with failpoints; they promise nothing.
 */
#include "base/clock.h"
#include "base/failpoint.h"
#include "sale/purchase.h"
#include "strategies/strategies.h"

enum { RELEASE_PATIENCE_US = 1000000 };

#define CONTROL_ROW                                                                                \
    .control = true, .family = FAMILY_REDIS_LOCK, .needs = NEED_POSTGRESQL | NEED_REDIS,           \
    .lane = {.in_flight_per_product = 4, .workers = 16, .max_batch = 1}

const struct strategy strategy_control_setnx_no_expiry = {
    .name = "control-setnx-no-expiry",
    .summary = "Test control: SETNX without any expiry.",
    .lock = &lock_control_setnx_no_expiry,
    .bodies = true,
    .sell = body_sell_chosen,
    CONTROL_ROW,
};

const struct strategy strategy_control_watchdog_explicit_lease = {
    .name = "control-watchdog-explicit-lease",
    .summary = "Test control: redis-watchdog with a lease of its own, and so without a watchdog.",
    .lock = &lock_control_watchdog_explicit_lease,
    .bodies = true,
    .sell = body_sell_chosen,
    CONTROL_ROW,
};

/* As when the lock stands inside the transaction: an aspect within @Transactional. */
static void unlock_then_commit(struct session *session, struct order *order)
{
    struct product_row row;
    struct lock_client client = session_lock_client(session);

    if (order->kind == ORDER_CANCEL) {
        purchase_cancel(session, order);
        return;
    }
    if (!body_plain_decide(session, order, &row) || !purchase_set_stock(session, order, &row))
        return;
    order->strategy->lock->release(&client, &session->hold.lease,
                                   clock_mono_us() + RELEASE_PATIENCE_US);
    session->hold.held = false;
    FAILPOINT("control.unlocked");
    purchase_finish(session, order, &row);
}

static void sell_unlocking_early(struct session *session, struct batch *batch)
{
    purchase_each(session, batch, unlock_then_commit);
}

const struct strategy strategy_control_unlock_before_commit = {
    .name = "control-unlock-before-commit",
    .summary = "Test control: redis-token, released before the commit.",
    .lock = &lock_redis_token,
    .sell = sell_unlocking_early,
    CONTROL_ROW,
};
