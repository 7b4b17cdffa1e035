/*
 * A lease lock in a table of PostgreSQL: whoever inserts the row holds it.
 *
 * The primary key lets one insert win. The row says who holds it (a random token, never a time or a
 * name that another could have) and until when by the database's clock, which all instances share;
 * an expired row is taken over by an UPDATE under that very condition, so of many one wins again.
 * The owner deletes it, by token. Every step is a transaction of its own, so the lock is seen at
 * once and outlives a rollback of the work.
 *
 * How it fails: a holder that dies keeps it until its lease ends; so does a row whose insert was
 * answered too late. Waiters poll, with a random pause so that they do not come in step. A pause of
 * the holder longer than its lease gives the lock to two. The loser's statements write nothing, so
 * polling costs no flush.
 */
#include "lock/pg_row.h"

#include "base/clock.h"
#include "base/log.h"
#include "settings/settings.h"

enum { POLL_LEAST_US = 1000, POLL_SPREAD_US = 15000, STORE_TIMEOUT_US = 1000000 };

enum pg_status pg_row_try(struct lock_client *client, const struct lease *lease, int64_t lease_ms,
                          bool *owned)
{
    static const enum sql steps[] = {SQL_LOCK_ROW_INSERT, SQL_LOCK_ROW_TAKE_OVER};
    int64_t until_us = clock_mono_us() + STORE_TIMEOUT_US;
    enum pg_status status = PG_OK;

    *owned = false;
    for (size_t i = 0; status == PG_OK && !*owned && i < sizeof steps / sizeof *steps; i++) {
        status = pg_exec(client->pg, steps[i],
                         PG_ARGS(pg_int8(lease->key), pg_text(lease->token), pg_int8(lease_ms)),
                         until_us);
        *owned = status == PG_OK && pg_affected(client->pg) == 1;
    }
    /* Another transaction writes the row, for longer than the order waits for a lock. */
    return status == PG_BUSY ? PG_OK : status;
}

/* The answer was lost, so the row may be ours: say once, on a new session, that we do not want it.
 * If that fails too, the lease ends it. */
static enum lock_result abandon(struct lock_client *client, const struct lease *lease)
{
    int64_t until_us = clock_mono_us() + STORE_TIMEOUT_US;

    log_debug("lock row of product %lld: %s", (long long)lease->key, pg_error(client->pg)->text);
    pg_lock_until(client->pg, INT64_MAX, STORE_TIMEOUT_US / CLOCK_US_PER_MS);
    if (pg_connect(client->pg, until_us))
        pg_exec(client->pg, SQL_LOCK_ROW_DELETE,
                PG_ARGS(pg_int8(lease->key), pg_text(lease->token)), until_us);
    return LOCK_UNKNOWN;
}

enum lock_result pg_row_acquire(struct lock_client *client, int64_t key, bool once,
                                int64_t until_us, struct lease *lease, int64_t lease_ms,
                                enum pg_status (*try)(struct lock_client *, const struct lease *,
                                                      int64_t lease_ms, bool *owned))
{
    lease->key = key;
    random_token(lease->token);
    atomic_store(&lease->lost, false);
    for (;;) {
        bool owned = false;
        int64_t asked_us = clock_mono_us();
        atomic_store(&lease->valid_until_us, asked_us + lease_ms * CLOCK_US_PER_MS);
        if (try(client, lease, lease_ms, &owned) != PG_OK)
            return abandon(client, lease);
        if (owned)
            return LOCK_OWNED;
        int64_t next_us = clock_mono_us() + POLL_LEAST_US + (int64_t)random_below(POLL_SPREAD_US);
        if (once || clock_mono_us() >= until_us)
            return LOCK_BUSY;
        clock_sleep_until(next_us < until_us ? next_us : until_us);
    }
}

static enum lock_result row_acquire(struct lock_client *client, int64_t key, bool once,
                                    int64_t until_us, struct lease *lease)
{
    return pg_row_acquire(client, key, once, until_us, lease, client->settings->lock_ttl_ms,
                          pg_row_try);
}

enum lock_release pg_row_release(struct lock_client *client, struct lease *lease, int64_t until_us)
{
    pg_lock_until(client->pg, INT64_MAX, STORE_TIMEOUT_US / CLOCK_US_PER_MS);
    if (!pg_connect(client->pg, until_us) ||
        pg_exec(client->pg, SQL_LOCK_ROW_DELETE,
                PG_ARGS(pg_int8(lease->key), pg_text(lease->token)), until_us) != PG_OK)
        return LOCK_RELEASE_UNKNOWN;
    return pg_affected(client->pg) == 1 ? LOCK_RELEASED : LOCK_NOT_OWNER;
}

const struct lock lock_pg_row = {
    .name = "pg-row",
    .acquire = row_acquire,
    .release = pg_row_release,
};
