/*
 * Bundles: statements on the wire, and what PostgreSQL answers to them.
 *
 * Every statement goes out in libpq's pipeline mode as one bundle with one sync: [BEGIN] statement
 * [COMMIT], each preceded by its PREPARE the first time a session uses it.
 *
 * Happy path: pg_send_command for each statement, PQpipelineSync, pg_flush; then pg_read_bundle
 * reads one result for each and keeps the main statement's. A bundle costs one round trip.
 *
 * Failure modes:
 * - A statement fails: PostgreSQL skips what follows up to the sync, so a COMMIT never runs after a
 *   failed statement. The failure is classified by its SQLSTATE; the session lives on.
 * - No answer in time: the statement is handed to the canceller and the session is closed,
 *   PG_TIMEOUT.
 * - The connection breaks: the session is closed, PG_LOST.
 * - PostgreSQL commits without having waited for its synchronous standby: closed, PG_LOST.
 *
 * PG_TIMEOUT and PG_LOST of a COMMIT, or of a statement outside a transaction, mean "unknown".
 */
#include "postgres/pg_internal.h"

#include "base/clock.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum pg_status pg_give_up(struct pg *pg, int64_t until_us)
{
    bool timed_out = clock_mono_us() >= until_us && PQstatus(pg->conn) == CONNECTION_OK;
    bool stopped = atomic_load_explicit(&pg->stopped, memory_order_relaxed);

    if (timed_out || stopped) {
        pg_set_error(pg, timed_out ? ERROR_TIMEOUT : ERROR_UNAVAILABLE,
                     timed_out ? "no answer from PostgreSQL in time" : "the server is stopping");
        pg_interrupt(pg);
    } else {
        pg_set_error(pg, ERROR_UNAVAILABLE, PQerrorMessage(pg->conn));
    }
    pg_close(pg);
    return timed_out ? PG_TIMEOUT : PG_LOST;
}

bool pg_next_result(struct pg *pg, int64_t until_us, PGresult **out)
{
    while (PQisBusy(pg->conn)) {
        if (!pg_wait_socket(pg, POLLIN, until_us) || !PQconsumeInput(pg->conn))
            return false;
    }
    *out = PQgetResult(pg->conn);
    return *out || PQstatus(pg->conn) == CONNECTION_OK;
}

/* No name may stay behind in a session that a pooler lends to others as it is. */
static const char *name_of(const struct pg *pg, enum sql statement)
{
    return pg->set_up || statement == SQL_STATEMENT_NAMES ? sql_names[statement] : "";
}

bool pg_write_text(const struct pg *pg, enum sql statement, char out[PG_TEXT_SIZE])
{
    static const char marker[] = "{schema}";
    const char *text = sql_texts[statement];
    size_t used = 0;

    for (const char *at; (at = strstr(text, marker)); text = at + strlen(marker)) {
        int length =
            snprintf(out + used, PG_TEXT_SIZE - used, "%.*s%s", (int)(at - text), text, pg->schema);
        used += (size_t)length;
        if (used >= PG_TEXT_SIZE)
            return false;
    }
    return used + (size_t)snprintf(out + used, PG_TEXT_SIZE - used, "%s", text) < PG_TEXT_SIZE;
}

bool pg_send_command(struct pg *pg, const struct pg_command *command)
{
    struct pg_parameters parameters;
    const char *name = name_of(pg, command->statement);
    bool prepared = pg->prepared[command->statement];
    char text[PG_TEXT_SIZE];

    if (!prepared && !(pg_write_text(pg, command->statement, text) &&
                       PQsendPrepare(pg->conn, name, text, 0, NULL)))
        return false;
    pg_encode(&pg->buffer, command->values, command->count, &parameters);
    pg_cost_sent(pg, command, &parameters, prepared ? NULL : text);
    return PQsendQueryPrepared(pg->conn, name, command->count, parameters.values,
                               parameters.lengths, parameters.formats, 1);
}

bool pg_flush(struct pg *pg, int64_t until_us)
{
    for (;;) {
        int left = PQflush(pg->conn);
        if (left == 0)
            return true;
        /* The server may want to be read from before it reads on. */
        if (left < 0 || !pg_wait_socket(pg, POLLIN | POLLOUT, until_us) ||
            !PQconsumeInput(pg->conn))
            return false;
    }
}

bool pg_ends_transaction(const struct pg *pg, const struct pg_command *last)
{
    return !pg->in_transaction || last->statement == SQL_COMMIT || last->statement == SQL_ROLLBACK;
}

/* Takes one result into account: keeps the main statement's, remembers the first failure. */
static enum pg_status judge(struct pg *pg, PGresult *result, bool main, bool commit)
{
    ExecStatusType kind = PQresultStatus(result);
    enum pg_status status = PG_OK;

    if (kind != PGRES_COMMAND_OK && kind != PGRES_TUPLES_OK) {
        pg_set_error(pg, ERROR_UNAVAILABLE, PQresultErrorMessage(result));
        const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        status = pg_classify(state);
        if (status == PG_WITHHELD)
            pg_withheld(pg, PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
        pg->useless |= pg_ends_session(state);
        if (pg_misses_schema(state))
            store_doubt(pg->store);
    } else if (commit && strcmp(PQcmdStatus(result), "COMMIT") != 0) {
        pg_set_error(pg, ERROR_INTERNAL, "COMMIT rolled back");
        status = PG_FAILED;
    }
    if (main && status == PG_OK)
        pg->result = result;
    else
        PQclear(result);
    return status;
}

enum pg_status pg_read_bundle(struct pg *pg, const struct pg_command *commands, int n, int main,
                              int64_t until_us)
{
    enum pg_status status = PG_OK;

    for (int i = 0; i < n; i++) {
        enum sql statement = commands[i].statement;
        bool preparing = !pg->prepared[statement];

        for (int part = preparing ? 0 : 1; part < 2; part++) {
            PGresult *result = NULL;
            PGresult *end = NULL;
            if (!pg_next_result(pg, until_us, &result) || !result ||
                !pg_next_result(pg, until_us, &end)) {
                PQclear(result);
                return pg_give_up(pg, until_us);
            }
            if (status == PG_OK && PQresultStatus(result) != PGRES_PIPELINE_ABORTED) {
                pg_cost_received(pg, statement, part == 0, result);
                status =
                    judge(pg, result, part == 1 && i == main, part == 1 && statement == SQL_COMMIT);
                pg->prepared[statement] |= pg->set_up && part == 0 && status == PG_OK;
            } else {
                PQclear(result);
            }
            /* A pooler has taken the name, whatever PostgreSQL answers, and takes it once. */
            pg->prepared[statement] |= pg->pooled;
        }
    }
    PGresult *sync = NULL;
    if (!pg_next_result(pg, until_us, &sync) || !sync)
        return pg_give_up(pg, until_us);
    /* A statement outside a transaction is committed here: what comes in place of the sync is the
     * session's end, before or after that. */
    bool synced = PQresultStatus(sync) == PGRES_PIPELINE_SYNC;
    PQclear(sync);
    if (!synced)
        return pg_give_up(pg, until_us);
    if (pg->unreplicated && status == PG_OK && pg_ends_transaction(pg, &commands[n - 1])) {
        pg_set_error(pg, ERROR_UNAVAILABLE, "committed, but perhaps on no synchronous standby");
        status = PG_LOST;
    }
    pg->unreplicated = false;
    if (status == PG_LOST || pg->useless)
        pg_close(pg);
    return status;
}

enum pg_status pg_withheld(struct pg *pg, const char *table)
{
    /* PostgreSQL has it in quotes, behind words of the server's language. */
    const char *quote = strchr(table, '"');
    const char *name = quote ? quote + 1 : table;

    error_set(&pg->error, ERROR_UNAVAILABLE,
              "a trigger, a rule or a view has kept a row from being written: %.*s",
              (int)strcspn(name, "\""), name);
    return PG_WITHHELD;
}

void pg_forget_result(struct pg *pg)
{
    PQclear(pg->result);
    pg->result = NULL;
    pg->buffer.used = 0;
}
