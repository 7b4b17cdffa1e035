/*
 * Controls: strategies with one guard left out, so that a test can show what it was for. Only in
 * builds with failpoints; they promise nothing.
 *
 * Of the lock row: control-upsert-lock is article 003's. INSERT … ON CONFLICT DO UPDATE affects one
 * row whoever holds it, so everybody owns the lock and nobody is kept out.
 * control-lease-less-lock-row is article 004's: the row is inserted without an end (here: one that
 * nobody lives to see), so it is right until a holder dies, and then the product cannot be sold
 * until somebody deletes the row by hand.
 *
 * control-guess-commit is `pessimistic` as most shops have it: a COMMIT whose reply is lost counts
 * as one that failed, and the buyer is told that nothing was done.
 */
#include "base/clock.h"
#include "base/failpoint.h"
#include "lock/pg_row.h"
#include "sale/body/body_chosen.h"
#include "sale/body/body_plain.h"
#include "sale/purchase_write.h"
#include "strategies/strategies.h"

enum { RELEASE_TIMEOUT_US = 1000000, STATEMENT_TIMEOUT_US = 1000000 };
#define CENTURY_MS INT64_C(3155760000000)

#define CONTROL_ROW                                                                                \
    .control = true, .lane = {.in_flight_per_product = 4, .workers = 16, .max_batch = 1}
#define REDIS_CONTROL_ROW                                                                          \
    CONTROL_ROW, .family = FAMILY_REDIS_LOCK, .needs = NEED_POSTGRESQL | NEED_REDIS
#define DATABASE_CONTROL_ROW                                                                       \
    CONTROL_ROW, .family = FAMILY_DATABASE, .needs = NEED_POSTGRESQL, BODY_CHOSEN

const struct strategy strategy_control_setnx_no_expiry = {
    .name = "control-setnx-no-expiry",
    .summary = "Test control: SETNX without any expiry.",
    .lock = &lock_control_setnx_no_expiry,
    BODY_CHOSEN,
    REDIS_CONTROL_ROW,
};

const struct strategy strategy_control_watchdog_explicit_lease = {
    .name = "control-watchdog-explicit-lease",
    .summary = "Test control: redis-watchdog with a lease of its own, and so without a watchdog.",
    .lock = &lock_control_watchdog_explicit_lease,
    BODY_CHOSEN,
    REDIS_CONTROL_ROW,
};

/* As when the lock stands inside the transaction: an aspect within @Transactional. */
static void unlock_then_commit(struct session *session, struct order *order)
{
    struct product_row row;
    struct lock_client client = session_lock_client(session);

    if (!body_plain_decide(session, order, &row) ||
        !purchase_set_stock(session, order, &row, row.stock - order->quantity))
        return;
    order->strategy->lock->release(&client, &session->hold.lease,
                                   clock_mono_us() + RELEASE_TIMEOUT_US);
    session->hold.held = false;
    FAILPOINT("control.unlocked");
    purchase_finish(session, order, &row);
}

const struct strategy strategy_control_unlock_before_commit = {
    .name = "control-unlock-before-commit",
    .summary = "Test control: redis-token, released before the commit.",
    .lock = &lock_redis_token,
    .buy = unlock_then_commit,
    REDIS_CONTROL_ROW,
};

static enum pg_status upsert(struct lock_client *client, const struct lease *lease,
                             int64_t lease_ms, bool *owned)
{
    enum pg_status status =
        pg_exec(client->pg, SQL_CONTROL_LOCK_UPSERT,
                PG_ARGS(pg_int8(lease->key), pg_text(lease->token), pg_int8(lease_ms)),
                clock_mono_us() + STATEMENT_TIMEOUT_US);

    *owned = status == PG_OK && pg_affected(client->pg) == 1;
    return status;
}

static enum lock_result upsert_acquire(struct lock_client *client, int64_t key, bool once,
                                       int64_t until_us, struct lease *lease)
{
    return pg_row_acquire(client, key, once, until_us, lease, client->settings->lock_ttl_ms,
                          upsert);
}

static enum lock_result lease_less_acquire(struct lock_client *client, int64_t key, bool once,
                                           int64_t until_us, struct lease *lease)
{
    return pg_row_acquire(client, key, once, until_us, lease, CENTURY_MS, pg_row_try);
}

static const struct lock lock_upsert = {
    .name = "upsert",
    .acquire = upsert_acquire,
    .release = pg_row_release,
};

static const struct lock lock_lease_less = {
    .name = "lease-less",
    .acquire = lease_less_acquire,
    .release = pg_row_release,
};

const struct strategy strategy_control_upsert_lock = {
    .name = "control-upsert-lock",
    .summary = "Control: seed 003's upsert, which excludes nobody.",
    .lock = &lock_upsert,
    DATABASE_CONTROL_ROW,
};

const struct strategy strategy_control_lease_less_lock_row = {
    .name = "control-lease-less-lock-row",
    .summary = "Control: a lock row without a lease, stuck for ever once its holder dies.",
    .lock = &lock_lease_less,
    DATABASE_CONTROL_ROW,
};

static void buy_and_guess(struct session *session, struct order *order)
{
    strategy_pessimistic.buy(session, order);
    if (order->outcome == ORDER_UNSETTLED)
        order->outcome = order->if_not_done;
}

const struct strategy strategy_control_guess_commit = {
    .name = "control-guess-commit",
    .summary = "Test control: pessimistic, which takes a lost reply to COMMIT for a failure.",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .buy = buy_and_guess,
    CONTROL_ROW,
};
