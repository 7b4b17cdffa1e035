/*
 * Statements: send, wait, classify.
 *
 * Every statement goes out in libpq's pipeline mode as one bundle with one sync: [BEGIN] statement
 * [COMMIT], each preceded by its PREPARE the first time a session uses it. The bundle costs one
 * round trip; an error in it skips what follows up to the sync, so a COMMIT never runs after a
 * failed statement.
 *
 * While the answer to the end of a transaction is waited for, the server may have the first
 * statement of the next (pipeline.c).
 *
 * What goes wrong: no answer in time (the request to cancel goes to the canceller, the session is
 * closed), the connection breaks (closed), the server says no (classified by SQLSTATE; the session
 * lives on), it commits without having waited for its synchronous standby (closed, PG_LOST).
 * Whoever sent a COMMIT or a statement outside a transaction must treat PG_TIMEOUT and PG_LOST as
 * "unknown".
 */
#include "postgres/pg_internal.h"

#include "base/clock.h"

#include <poll.h>
#include <string.h>

#define QUERY_CANCELED "57014"

enum { COMMANDS_MAX = 4, CANCEL_PATIENCE_US = 1000000 };

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

/* True: it came in time, or after a cancel request, which *expired tells. */
static bool next_or_cancel(struct pg *pg, int64_t *until_us, bool *expired, PGresult **out)
{
    if (pg_next_result(pg, *until_us, out))
        return true;
    if (!pg->patient || *expired || PQstatus(pg->conn) != CONNECTION_OK)
        return false;
    pg_interrupt(pg);
    atomic_store(&pg->cancel, cancel_request_create(pg));
    pg->cancelled = *expired = true;
    *until_us = clock_mono_us() + CANCEL_PATIENCE_US;
    return pg_next_result(pg, *until_us, out);
}

void pg_be_patient(struct pg *pg, bool patient)
{
    pg->patient = patient;
}

bool pg_send_command(struct pg *pg, const struct pg_command *command)
{
    struct pg_parameters parameters;
    const char *name = sql_names[command->statement];

    if (!pg->prepared[command->statement] &&
        !PQsendPrepare(pg->conn, name, sql_texts[command->statement], 0, NULL))
        return false;
    pg_encode(&pg->buffer, command->values, command->count, &parameters);
    pg_cost_sent(pg, command, &parameters);
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

static bool ends_transaction(const struct pg *pg, const struct pg_command *last)
{
    return !pg->in_transaction || last->statement == SQL_COMMIT || last->statement == SQL_ROLLBACK;
}

static bool send_all(struct pg *pg, const struct pg_command *commands, int n, int64_t until_us)
{
    for (int i = 0; i < n; i++)
        if (!pg_send_command(pg, &commands[i]))
            return false;
    if (!PQpipelineSync(pg->conn))
        return false;
    if (ends_transaction(pg, &commands[n - 1]) && !pg_pipeline_send(pg))
        return false;
    return pg_flush(pg, until_us);
}

/* One that a cancel request of ours has hit did nothing, and may be made again. */
static enum pg_status classify(const struct pg *pg, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    return pg->cancelled && state && strcmp(state, QUERY_CANCELED) == 0 ? PG_CONFLICT
                                                                        : pg_classify(state);
}

/* Takes one result into account: keeps the main statement's, remembers the first failure. */
static enum pg_status judge(struct pg *pg, PGresult *result, bool main, bool commit)
{
    ExecStatusType kind = PQresultStatus(result);
    enum pg_status status = PG_OK;

    if (kind != PGRES_COMMAND_OK && kind != PGRES_TUPLES_OK) {
        pg_set_error(pg, ERROR_UNAVAILABLE, PQresultErrorMessage(result));
        status = classify(pg, result);
        const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
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
    bool expired = false;

    for (int i = 0; i < n; i++) {
        enum sql statement = commands[i].statement;
        bool preparing = !pg->prepared[statement];

        for (int part = preparing ? 0 : 1; part < 2; part++) {
            PGresult *result = NULL;
            PGresult *end = NULL;
            if (!next_or_cancel(pg, &until_us, &expired, &result) || !result ||
                !pg_next_result(pg, until_us, &end)) {
                PQclear(result);
                return pg_give_up(pg, until_us);
            }
            if (status == PG_OK && PQresultStatus(result) != PGRES_PIPELINE_ABORTED) {
                pg_cost_received(pg, statement, part == 0, result);
                status =
                    judge(pg, result, part == 1 && i == main, part == 1 && statement == SQL_COMMIT);
                pg->prepared[statement] |= part == 0 && status == PG_OK;
            } else {
                PQclear(result);
            }
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
    if (pg->unreplicated && status == PG_OK && ends_transaction(pg, &commands[n - 1])) {
        pg_set_error(pg, ERROR_UNAVAILABLE, "committed, but perhaps on no synchronous standby");
        status = PG_LOST;
    }
    pg->unreplicated = false;
    if (status == PG_LOST || pg->useless)
        pg_close(pg);
    return expired && status == PG_CONFLICT ? PG_CANCELLED : status;
}

void pg_forget_result(struct pg *pg)
{
    PQclear(pg->result);
    pg->result = NULL;
    pg->buffer.used = 0;
}

static enum pg_status run(struct pg *pg, const struct pg_command *commands, int n, int main,
                          int64_t until_us)
{
    pg_forget_result(pg);
    if (!pg->conn) {
        pg_set_error(pg, ERROR_UNAVAILABLE, "not connected");
        return PG_LOST;
    }
    if (!send_all(pg, commands, n, until_us))
        return pg_give_up(pg, until_us);
    pg_cost_round_trip();
    enum pg_status status = pg_limit_read(pg, until_us);
    return pg->conn ? pg_read_bundle(pg, commands, n, main, until_us) : status;
}

/* Another statement comes than those in the pipeline. */
static void make_way(struct pg *pg, int64_t until_us)
{
    if (pg->pipeline.sent > 0)
        pg_pipeline_drain(pg, until_us);
}

static void begin_as(struct pg *pg, enum sql begin)
{
    if (pg_in_transaction(pg))
        return;
    pg->begin = begin;
    pg->begin_pending = true;
}

void pg_begin(struct pg *pg)
{
    begin_as(pg, SQL_BEGIN);
}

void pg_begin_serializable(struct pg *pg)
{
    begin_as(pg, SQL_BEGIN_SERIALIZABLE);
}

bool pg_in_transaction(const struct pg *pg)
{
    return pg->in_transaction || pg->begin_pending;
}

/* [BEGIN] the statements [COMMIT], in one round trip; the last statement's result is kept. */
static enum pg_status run_bundle(struct pg *pg, const struct pg_command *statements, int count,
                                 bool commit, int64_t until_us)
{
    struct pg_command commands[COMMANDS_MAX];
    int n = 0;

    make_way(pg, until_us);
    if (!pg_limit_send(pg))
        return pg_give_up(pg, until_us);
    if (pg->begin_pending) {
        commands[n++] = (struct pg_command){.statement = pg->begin};
        pg->begin_pending = false;
        pg->in_transaction = true;
    }
    for (int i = 0; i < count; i++)
        commands[n++] = statements[i];
    int kept = n - 1;
    if (commit)
        commands[n++] = (struct pg_command){.statement = SQL_COMMIT};
    enum pg_status status = run(pg, commands, n, kept, until_us);
    if (commit && status == PG_OK) {
        pg->in_transaction = false;
        pg_limit_ended(pg, true);
    }
    return status;
}

/* The statement has been sent in the pipeline: waits for its result. */
static enum pg_status read_pipelined(struct pg *pg, const struct pg_command *command,
                                     int64_t until_us)
{
    const struct pg_command commands[] = {{.statement = pg->begin}, *command};
    int skipped = pg->begin_pending ? 0 : 1;

    pg_forget_result(pg);
    pg->in_transaction = pg->begin_pending;
    pg->begin_pending = false;
    if (!pg->in_transaction && !(pg_pipeline_send(pg) && pg_flush(pg, until_us)))
        return pg_give_up(pg, until_us);
    return pg_read_bundle(pg, commands + skipped, 2 - skipped, 1 - skipped, until_us);
}

enum pg_status pg_exec(struct pg *pg, enum sql statement, const struct pg_value *values, int count,
                       int64_t until_us)
{
    struct pg_command command = {statement, values, count};
    bool sent = false;

    if (pg->pipeline.count > 0 && pg_pipeline_take(pg, &command, &sent) && sent)
        return read_pipelined(pg, &command, until_us);
    return run_bundle(pg, &command, 1, false, until_us);
}

enum pg_status pg_exec_commit(struct pg *pg, const struct pg_command *statements, int count,
                              int64_t until_us)
{
    return run_bundle(pg, statements, count, true, until_us);
}

enum pg_status pg_commit(struct pg *pg, int64_t until_us)
{
    struct pg_command commit = {.statement = SQL_COMMIT};

    make_way(pg, until_us);
    enum pg_status status = run(pg, &commit, 1, 0, until_us);

    /* A COMMIT that the server answered ended the transaction, one way or the other. */
    pg->in_transaction = false;
    pg_limit_ended(pg, status == PG_OK);
    return status;
}

void pg_rollback(struct pg *pg, int64_t until_us)
{
    struct pg_command rollback = {.statement = SQL_ROLLBACK};
    struct error cause = pg->error;

    pg->begin_pending = false;
    if (!pg->conn || !pg->in_transaction)
        return; /* the pipeline stays: its statements may have committed */
    make_way(pg, until_us);
    if (pg->conn && pg->in_transaction && run(pg, &rollback, 1, 0, until_us) != PG_OK)
        pg_close(pg);
    pg->error = cause;
    pg->in_transaction = false;
    pg_limit_ended(pg, false);
}
