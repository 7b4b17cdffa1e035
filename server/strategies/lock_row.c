/*
 * lock-row: a row in a table is the lock (seeds 003 and 004, put right).
 *
 * lock/pg_row.c inserts it, with an owner and a lease; then the body runs in a transaction of its
 * own; then the owner deletes the row. Each of the three is a commit and a flush of the log, which
 * is what it costs beside a lock that the transaction itself holds.
 *
 * It cannot oversell while the lease lasts: only one can have inserted the row, and work is broken
 * off when the lease is over. But a lease is a promise that a paused process cannot keep: one that
 * was stopped between its decision and its write, for longer than the lease, writes a stale figure
 * over the next holder's (body=guarded does not). After a crash the lock stays until the lease
 * ends; the seeds' table without one stays locked for ever.
 *
 * Waiters poll with a random pause inside the order's time; wait_ms=0 asks once. After an unknown
 * COMMIT the row is left to its lease.
 */
#include "sale/purchase.h"
#include "strategies/strategies.h"

const struct strategy strategy_lock_row = {
    .name = "lock-row",
    .summary = "A row with an owner and a lease, inserted under a primary key, is the lock.",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_FORGETS,
    .bodies = true,
    .lane = {.in_flight_per_product = 4, .workers = 16, .max_batch = 1},
    .lock = &lock_pg_row,
    .sell = body_sell_chosen,
};
