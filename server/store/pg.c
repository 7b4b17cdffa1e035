/*
 * Sessions: connect, send, wait, classify.
 *
 * Every statement goes out in libpq's pipeline mode as one bundle with one sync: [BEGIN] statement
 * [COMMIT], each preceded by its PREPARE the first time a session uses it. The bundle costs one
 * round trip; an error in it skips what follows up to the sync, so a COMMIT never runs after a
 * failed statement.
 *
 * What goes wrong: no answer in time (the cancel request goes to the canceller, the session is
 * closed), the connection breaks (closed), the server says no (classified by SQLSTATE; the session
 * lives on). Whoever sent a COMMIT or a statement outside a transaction must treat PG_TIMEOUT and
 * PG_LOST as "unknown".
 */
#include "store/pg_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "metrics/cost.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { CLOSED_AFTER_FAILURE_US = 250000, COMMANDS_MAX = 4 };

static void ignore_notice(void *context, const PGresult *result)
{
    (void)context;
    (void)result;
}

struct pg *pg_create(struct store *store)
{
    struct pg *pg = calloc(1, sizeof *pg);

    if (pg)
        pg->store = store;
    return pg;
}

void pg_close(struct pg *pg)
{
    PQclear(pg->result);
    pg->result = NULL;
    PQfreeCancel(atomic_exchange(&pg->cancel, NULL));
    if (pg->conn)
        PQfinish(pg->conn);
    pg->conn = NULL;
    pg->begin_pending = false;
    pg->in_transaction = pg->written = false;
    memset(pg->prepared, 0, sizeof pg->prepared);
}

void pg_destroy(struct pg *pg)
{
    if (!pg)
        return;
    pg_close(pg);
    free(pg->buffer.bytes);
    free(pg);
}

const struct error *pg_error(const struct pg *pg)
{
    return &pg->error;
}

/* libpq's messages may have several lines; the log wants one. */
static void set_error(struct pg *pg, enum error_code code, const char *text)
{
    error_set(&pg->error, code, "%s", text && *text ? text : "the connection broke");
    for (char *c = pg->error.text; *c; c++)
        if (*c == '\n')
            *c = c[1] ? ' ' : '\0';
}

/* Waits until the socket is ready for what libpq wants; false when the deadline has passed. */
static bool wait_socket(PGconn *conn, short events, int64_t until_us)
{
    struct pollfd fd = {.fd = PQsocket(conn), .events = events};

    for (;;) {
        int ready = poll(&fd, 1, clock_poll_ms(until_us));
        if (ready > 0)
            return true;
        if (ready == 0 && clock_mono_us() >= until_us)
            return false;
        if (ready < 0 && errno != EINTR)
            return true; /* libpq will say what is wrong */
    }
}

static bool connect_in_time(struct pg *pg, int64_t until_us)
{
    const char *const keys[] = {"dbname", "fallback_application_name", NULL};
    const char *const values[] = {pg->store->conninfo, "seckill", NULL};

    pg->conn = PQconnectStartParams(keys, values, 1);
    if (!pg->conn) {
        set_error(pg, ERROR_UNAVAILABLE, "out of memory");
        return false;
    }
    PQsetNoticeReceiver(pg->conn, ignore_notice, NULL);
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    while (PQstatus(pg->conn) != CONNECTION_BAD && state != PGRES_POLLING_OK &&
           state != PGRES_POLLING_FAILED) {
        if (!wait_socket(pg->conn, state == PGRES_POLLING_READING ? POLLIN : POLLOUT, until_us)) {
            set_error(pg, ERROR_TIMEOUT, "no connection in time");
            return false;
        }
        state = PQconnectPoll(pg->conn);
    }
    if (PQstatus(pg->conn) != CONNECTION_OK) {
        set_error(pg, ERROR_UNAVAILABLE, PQerrorMessage(pg->conn));
        return false;
    }
    return true;
}

static enum pg_status set_limits(struct pg *pg, int64_t until_us)
{
    struct cost before = cost_of_thread[COST_POSTGRESQL];
    char statement[32];
    char idle[32];

    snprintf(statement, sizeof statement, "%lldms", (long long)pg->store->limits.statement_ms);
    snprintf(idle, sizeof idle, "%lldms", (long long)pg->store->limits.idle_in_transaction_ms);
    enum pg_status status =
        pg_exec(pg, SQL_SESSION_LIMITS, PG_ARGS(pg_text(statement), pg_text(idle)), until_us);
    cost_of_thread[COST_POSTGRESQL] = before;
    return status;
}

bool pg_open(struct pg *pg, int64_t until_us)
{
    pg_close(pg);
    if (clock_mono_us() < atomic_load_explicit(&pg->store->closed_until_us, memory_order_relaxed)) {
        set_error(pg, ERROR_UNAVAILABLE, "PostgreSQL was out of reach a moment ago");
        return false;
    }
    if (connect_in_time(pg, until_us)) {
        atomic_store(&pg->cancel, PQgetCancel(pg->conn));
        if (atomic_load(&pg->cancel) && PQsetnonblocking(pg->conn, 1) == 0 &&
            PQenterPipelineMode(pg->conn) == 1 && set_limits(pg, until_us) == PG_OK) {
            atomic_store_explicit(&pg->store->up, true, memory_order_relaxed);
            return true;
        }
    }
    atomic_store_explicit(&pg->store->up, false, memory_order_relaxed);
    error_prefix(&pg->error, "connecting to PostgreSQL");
    pg_close(pg);
    /* The jitter keeps the sessions of many instances from knocking together. */
    atomic_store_explicit(&pg->store->closed_until_us,
                          clock_mono_us() + CLOSED_AFTER_FAILURE_US +
                              (int64_t)random_below(CLOSED_AFTER_FAILURE_US / 4),
                          memory_order_relaxed);
    return false;
}

/* An idle session with something to read was ended by the server: first comes why, then the end, so
 * reading once would not tell. (Or a setting was reloaded; then a new session costs little.) One
 * that was interrupted may yet be cancelled. */
bool pg_lives(struct pg *pg)
{
    if (!pg->conn || !atomic_load(&pg->cancel) || pg->in_transaction || pg->begin_pending)
        return false;
    struct pollfd fd = {.fd = PQsocket(pg->conn), .events = POLLIN};
    return poll(&fd, 1, 0) == 0;
}

bool pg_connect(struct pg *pg, int64_t until_us)
{
    if (!store_ready(pg->store)) {
        set_error(pg, ERROR_UNAVAILABLE, "PostgreSQL is not ready");
        return false;
    }
    return pg_lives(pg) || pg_open(pg, until_us);
}

static enum pg_status give_up(struct pg *pg, int64_t until_us)
{
    bool timed_out = clock_mono_us() >= until_us && PQstatus(pg->conn) == CONNECTION_OK;

    if (timed_out) {
        set_error(pg, ERROR_TIMEOUT, "no answer from PostgreSQL in time");
        pg_interrupt(pg);
    } else {
        set_error(pg, ERROR_UNAVAILABLE, PQerrorMessage(pg->conn));
    }
    pg_close(pg);
    return timed_out ? PG_TIMEOUT : PG_LOST;
}

/* The next result of the pipeline; false when the deadline or the connection ended the wait. */
static bool next_result(struct pg *pg, int64_t until_us, PGresult **out)
{
    while (PQisBusy(pg->conn)) {
        if (!wait_socket(pg->conn, POLLIN, until_us) || !PQconsumeInput(pg->conn))
            return false;
    }
    *out = PQgetResult(pg->conn);
    return *out || PQstatus(pg->conn) == CONNECTION_OK;
}

static bool send_command(struct pg *pg, const struct pg_command *command)
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

static bool send_all(struct pg *pg, const struct pg_command *commands, int n, int64_t until_us)
{
    for (int i = 0; i < n; i++)
        if (!send_command(pg, &commands[i]))
            return false;
    if (!PQpipelineSync(pg->conn))
        return false;
    for (;;) {
        int left = PQflush(pg->conn);
        if (left == 0)
            return true;
        /* The server may want to be read from before it reads on. */
        if (left < 0 || !wait_socket(pg->conn, POLLIN | POLLOUT, until_us) ||
            !PQconsumeInput(pg->conn))
            return false;
    }
}

/* Takes one result into account: keeps the main statement's, remembers the first failure. */
static enum pg_status judge(struct pg *pg, PGresult *result, bool main, bool commit)
{
    ExecStatusType kind = PQresultStatus(result);
    enum pg_status status = PG_OK;

    if (kind != PGRES_COMMAND_OK && kind != PGRES_TUPLES_OK) {
        set_error(pg, ERROR_UNAVAILABLE, PQresultErrorMessage(result));
        status = pg_classify(PQresultErrorField(result, PG_DIAG_SQLSTATE));
    } else if (commit && strcmp(PQcmdStatus(result), "COMMIT") != 0) {
        set_error(pg, ERROR_INTERNAL, "COMMIT rolled back");
        status = PG_FAILED;
    }
    if (main && status == PG_OK)
        pg->result = result;
    else
        PQclear(result);
    return status;
}

/* Reads every result up to the sync. `main` is the index of the statement whose result is kept. */
static enum pg_status read_all(struct pg *pg, const struct pg_command *commands, int n, int main,
                               int64_t until_us)
{
    enum pg_status status = PG_OK;

    for (int i = 0; i < n; i++) {
        enum sql statement = commands[i].statement;
        bool preparing = !pg->prepared[statement];

        for (int part = preparing ? 0 : 1; part < 2; part++) {
            PGresult *result = NULL;
            PGresult *end = NULL;
            if (!next_result(pg, until_us, &result) || !result ||
                !next_result(pg, until_us, &end)) {
                PQclear(result);
                return give_up(pg, until_us);
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
    if (!next_result(pg, until_us, &sync) || !sync)
        return give_up(pg, until_us);
    PQclear(sync);
    return status;
}

static enum pg_status run(struct pg *pg, const struct pg_command *commands, int n, int main,
                          int64_t until_us)
{
    PQclear(pg->result);
    pg->result = NULL;
    pg->buffer.used = 0;
    if (!pg->conn) {
        set_error(pg, ERROR_UNAVAILABLE, "not connected");
        return PG_LOST;
    }
    if (!send_all(pg, commands, n, until_us))
        return give_up(pg, until_us);
    pg_cost_round_trip();
    enum pg_status status = read_all(pg, commands, n, main, until_us);
    if (status == PG_LOST)
        pg_close(pg);
    return status;
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
    if (commit && status == PG_OK)
        pg->in_transaction = false;
    return status;
}

enum pg_status pg_exec(struct pg *pg, enum sql statement, const struct pg_value *values, int count,
                       int64_t until_us)
{
    return run_bundle(pg, &(struct pg_command){statement, values, count}, 1, false, until_us);
}

enum pg_status pg_exec_commit(struct pg *pg, const struct pg_command *statements, int count,
                              int64_t until_us)
{
    return run_bundle(pg, statements, count, true, until_us);
}

enum pg_status pg_commit(struct pg *pg, int64_t until_us)
{
    struct pg_command commit = {.statement = SQL_COMMIT};
    enum pg_status status = run(pg, &commit, 1, 0, until_us);

    /* A COMMIT that the server answered ended the transaction, one way or the other. */
    pg->in_transaction = false;
    return status;
}

void pg_rollback(struct pg *pg, int64_t until_us)
{
    struct pg_command rollback = {.statement = SQL_ROLLBACK};

    pg->begin_pending = false;
    if (!pg->conn || !pg->in_transaction)
        return;
    struct error cause = pg->error;
    if (run(pg, &rollback, 1, 0, until_us) != PG_OK)
        pg_close(pg);
    pg->error = cause;
    pg->in_transaction = false;
}
