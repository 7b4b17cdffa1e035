/*
 * Controls of lock-row: what the seeds' tables do, kept for the tests that show it fail. Built with
 * the failpoints alone.
 *
 * control-upsert-lock is seed 003's: INSERT … ON CONFLICT DO UPDATE affects one row whoever holds
 * it, so everybody owns the lock and nobody is kept out. control-lease-less-lock-row is seed 004's:
 * the row is inserted without an end (here: one that nobody lives to see), so it is right until a
 * holder dies, and then the product cannot be sold until somebody deletes the row by hand.
 */
#include "lock/pg_row.h"
#include "sale/purchase.h"
#include "strategies/strategies.h"

#include "base/clock.h"

enum { STATEMENT_PATIENCE_US = 1000000 };
#define CENTURY_MS INT64_C(3155760000000)

static enum pg_status upsert(struct lock_client *client, const struct lease *lease,
                             int64_t lease_ms, bool *owned)
{
    enum pg_status status =
        pg_exec(client->pg, SQL_CONTROL_LOCK_UPSERT,
                PG_ARGS(pg_int8(lease->key), pg_text(lease->token), pg_int8(lease_ms)),
                clock_mono_us() + STATEMENT_PATIENCE_US);

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
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .control = true,
    .bodies = true,
    .lane = {.in_flight_per_product = 4, .workers = 16, .max_batch = 1},
    .lock = &lock_upsert,
    .sell = body_sell_chosen,
};

const struct strategy strategy_control_lease_less_lock_row = {
    .name = "control-lease-less-lock-row",
    .summary = "Control: a lock row without a lease, stuck for ever once its holder dies.",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .control = true,
    .bodies = true,
    .lane = {.in_flight_per_product = 4, .workers = 16, .max_batch = 1},
    .lock = &lock_lease_less,
    .sell = body_sell_chosen,
};
