/*
 * What a session waits for: how long for locks, and whether its commits wait for the log.
 *
 * PostgreSQL's lock_timeout and synchronous_commit, told together and only when one of them does
 * not suit any more.
 *
 * lock_timeout ends a wait for a row, a key or an advisory lock and nothing else, so PG_BUSY means
 * that nothing was done. (A client that stops waiting for a statement that commits by itself does
 * not know that.) Each order has a time of its own, and a SET for each order would cost all orders
 * what only those need that meet a held row. So the server has one of a few round figures, no
 * longer than the time that is left; a new figure is sent only when the present one does not suit
 * any more, as a statement with a sync of its own, together with the statement that it is for.
 * Behind a pooler it is one of the settings that travel with each transaction (session_setup.c).
 *
 * A commit that does not wait for the log lets go of its locks at once (early release), and a
 * crash may undo it until a later commit has waited. An answer that rests on the rows of such a
 * commit waits for that (sale/flusher.h), or asks for it (pg_flush_reads).
 *
 * Failure modes:
 * - The wait ends early, because its limit was rounded down: the caller begins again while there is
 *   time.
 * - The wait ends late, because the limit holds for each lock apart, and a row for which others
 *   wait is two locks.
 *
 * Source: PostgreSQL documentation, "Client Connection Defaults", lock_timeout; "Asynchronous
 * Commit".
 */
#include "postgres/pg_internal.h"

#include "base/clock.h"

#include <assert.h>
#include <stdio.h>

/* NEAR: a limit so much shorter than what is left is kept. */
enum { LEAST_MS = 1, NEAR = 16 };

/* The time that is left, in round figures: 1, 2, 5, 10, 20, 50 … ms. 0: there is no bound. */
static int64_t round_down(int64_t left_ms)
{
    static const int steps[] = {2, 5, 10};
    int64_t ten = 1;
    int64_t best = LEAST_MS;

    for (size_t i = 0; steps[i] * ten <= left_ms; i = (i + 1) % 3) {
        best = steps[i] * ten;
        if (i == 2)
            ten = best;
    }
    return best;
}

static int64_t left_ms(const struct pg *pg)
{
    int64_t left = (pg->limit.until_us - clock_mono_us()) / CLOCK_US_PER_MS;

    if (left > pg->limit.most_ms)
        return pg->limit.most_ms;
    return left < LEAST_MS ? LEAST_MS : left;
}

static int64_t wanted_ms(const struct pg *pg)
{
    return pg->limit.until_us == 0 ? 0 : round_down(left_ms(pg));
}

bool pg_limit_suits(const struct pg *pg)
{
    if (pg->limit.early != pg->limit.told_early)
        return false;
    if (pg->limit.until_us == 0)
        return pg->limit.ms == 0;
    int64_t left = left_ms(pg);
    return pg->limit.ms > 0 && pg->limit.ms <= left && pg->limit.ms * NEAR >= round_down(left);
}

void pg_lock_until(struct pg *pg, int64_t until_us, int64_t most_ms)
{
    pg->limit.until_us = until_us;
    pg->limit.most_ms = most_ms;
}

void pg_limit_text(int64_t ms, char text[PG_LIMIT_TEXT])
{
    snprintf(text, PG_LIMIT_TEXT, "%lldms", (long long)ms);
}

int64_t pg_limit_begin(struct pg *pg)
{
    pg->limit.sent = pg->limit.in_doubt = pg->limit.told_early = false;
    return pg->limit.ms = wanted_ms(pg);
}

const struct pg_command *pg_settings(struct pg *pg, struct pg_settings *out)
{
    pg_limit_text(pg->store->limits.statement_ms, out->statement);
    pg_limit_text(pg->store->limits.idle_in_transaction_ms, out->idle);
    pg_limit_text(pg_limit_begin(pg), out->lock);
    out->values[0] = pg_text(out->statement);
    out->values[1] = pg_text(out->idle);
    out->values[2] = pg_text(out->lock);
    out->values[3] = pg_int8_or_null(!pg->pooled, PQbackendPID(pg->conn));
    out->command = (struct pg_command){SQL_SESSION_SETTINGS, out->values, PG_SETTINGS};
    return &out->command;
}

bool pg_limit_send(struct pg *pg)
{
    char text[PG_LIMIT_TEXT];

    if (!pg->conn || !pg->set_up || pg->pooled || pg_limit_suits(pg))
        return true;
    pg->limit.sent = true;
    pg->limit.ms = wanted_ms(pg);
    pg->limit.in_doubt |= pg->in_transaction; /* a rollback takes it back */
    pg->limit.told_early = pg->limit.early;
    pg_limit_text(pg->limit.ms, text);
    const struct pg_value values[] = {pg_text(text), pg_text(pg->limit.early ? "off" : NULL)};
    if (!pg_send_command(pg, &(struct pg_command){SQL_SESSION_LIMITS, values, 2}) ||
        !PQpipelineSync(pg->conn))
        return false;
    pg_cost_sync();
    return true;
}

enum pg_status pg_limit_read(struct pg *pg, int64_t until_us)
{
    const struct pg_command command = {.statement = SQL_SESSION_LIMITS};

    if (!pg->limit.sent)
        return PG_OK;
    pg->limit.sent = false;
    enum pg_status status = pg_read_bundle(pg, &command, 1, -1, until_us);
    if (status != PG_OK)
        pg->limit.ms = PG_LIMIT_UNKNOWN;
    return status;
}

enum pg_status pg_limit_untold(struct pg *pg)
{
    pg_set_error(pg, ERROR_UNAVAILABLE, "PostgreSQL did not take the session's limits");
    pg_close(pg);
    return PG_LOST;
}

void pg_limit_ended(struct pg *pg, bool committed)
{
    if (pg->limit.in_doubt && !committed)
        pg->limit.ms = PG_LIMIT_UNKNOWN;
    pg->limit.in_doubt = false;
}

void pg_commit_early(struct pg *pg, bool early)
{
    assert(!pg_in_transaction(pg));
    pg->limit.early = early;
}
