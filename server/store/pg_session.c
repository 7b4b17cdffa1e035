/*
 * A session's life: connect, see whether it still lives, close.
 *
 * A session that anything went wrong with is closed, and connected again when it is next needed;
 * nobody tries to find out what state it is in.
 */
#include "store/pg_internal.h"

#include "base/clock.h"
#include "base/random.h"
#include "metrics/cost.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { CLOSED_AFTER_FAILURE_US = 250000, STOP_SEEN_US = 100000 };

/* A wait for the synchronous standby that somebody cancelled ends with a WARNING (01000) and a
 * commit that no standby may have. It names no code of its own, and its text is translated; but
 * what a trigger raises (exec_stmt_raise) is not meant. */
static void take_notice(void *context, const PGresult *notice)
{
    struct pg *pg = context;
    const char *state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
    const char *function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);

    if (state && strcmp(state, "01000") == 0 &&
        (!function || strcmp(function, "exec_stmt_raise") != 0))
        pg->unreplicated = true;
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
    cancel_request_free(atomic_exchange(&pg->cancel, NULL));
    if (pg->conn)
        PQfinish(pg->conn);
    pg->conn = NULL;
    pg->begin_pending = false;
    pg->in_transaction = pg->written = pg->cancelled = false;
    pg->useless = pg->unreplicated = false;
    pg->ahead.count = pg->ahead.sent = 0;
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
void pg_set_error(struct pg *pg, enum error_code code, const char *text)
{
    error_set(&pg->error, code, "%s", text && *text ? text : "the connection broke");
    for (char *c = pg->error.text; *c; c++)
        if (*c == '\n')
            *c = c[1] ? ' ' : '\0';
}

bool pg_wait_socket(struct pg *pg, short events, int64_t until_us)
{
    struct pollfd fd = {.fd = PQsocket(pg->conn), .events = events};

    for (;;) {
        int64_t turn_us = clock_earlier(until_us, clock_mono_us() + STOP_SEEN_US);
        int ready = poll(&fd, 1, clock_poll_ms(turn_us));
        if (ready > 0)
            return true;
        if (ready == 0 && (clock_mono_us() >= until_us ||
                           atomic_load_explicit(&pg->stopped, memory_order_relaxed)))
            return false;
        if (ready < 0 && errno != EINTR)
            return true; /* libpq will say what is wrong */
    }
}

void pg_stop(struct pg *pg)
{
    atomic_store_explicit(&pg->stopped, true, memory_order_relaxed);
}

static bool connect_in_time(struct pg *pg, int64_t until_us)
{
    const char *const keys[] = {"dbname", "fallback_application_name", NULL};
    const char *const values[] = {pg->store->conninfo, "seckill", NULL};

    pg->conn = PQconnectStartParams(keys, values, 1);
    if (!pg->conn) {
        pg_set_error(pg, ERROR_UNAVAILABLE, "out of memory");
        return false;
    }
    PQsetNoticeReceiver(pg->conn, take_notice, pg);
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    while (PQstatus(pg->conn) != CONNECTION_BAD && state != PGRES_POLLING_OK &&
           state != PGRES_POLLING_FAILED) {
        if (!pg_wait_socket(pg, state == PGRES_POLLING_READING ? POLLIN : POLLOUT, until_us)) {
            pg_set_error(pg, ERROR_TIMEOUT, "no connection in time");
            return false;
        }
        state = PQconnectPoll(pg->conn);
    }
    if (PQstatus(pg->conn) != CONNECTION_OK) {
        pg_set_error(pg, ERROR_UNAVAILABLE, PQerrorMessage(pg->conn));
        return false;
    }
    pg->unreplicated = false; /* a warning while connecting was about something else */
    return true;
}

static enum pg_status settle_in(struct pg *pg, int64_t until_us)
{
    struct cost before = cost_of_thread[COST_POSTGRESQL];
    char path[STORE_PATH_SIZE];
    char statement[32];
    char idle[32];

    pg->path_number = store_path(pg->store, path);
    snprintf(statement, sizeof statement, "%lldms", (long long)pg->store->limits.statement_ms);
    snprintf(idle, sizeof idle, "%lldms", (long long)pg->store->limits.idle_in_transaction_ms);
    enum pg_status status = pg_exec(
        pg, SQL_SESSION_SETTINGS,
        PG_ARGS(pg_text(path[0] ? path : NULL), pg_text(statement), pg_text(idle)), until_us);
    cost_of_thread[COST_POSTGRESQL] = before;
    return status;
}

bool pg_open(struct pg *pg, int64_t until_us)
{
    pg_close(pg);
    if (clock_mono_us() < atomic_load_explicit(&pg->store->closed_until_us, memory_order_relaxed)) {
        pg_set_error(pg, ERROR_UNAVAILABLE, "PostgreSQL was out of reach a moment ago");
        return false;
    }
    if (connect_in_time(pg, until_us)) {
        atomic_store(&pg->cancel, cancel_request_create(pg->conn));
        if (atomic_load(&pg->cancel) && PQsetnonblocking(pg->conn, 1) == 0 &&
            PQenterPipelineMode(pg->conn) == 1 && settle_in(pg, until_us) == PG_OK) {
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
 * that was interrupted may yet be cancelled, and one that looks for the tables where they are not
 * is of no use. */
bool pg_lives(struct pg *pg)
{
    if (pg->ahead.sent > 0)
        return true; /* what is there to be read is theirs */
    if (!pg->conn || !atomic_load(&pg->cancel) || pg->cancelled || pg->in_transaction ||
        pg->begin_pending || pg->path_number != store_path_number(pg->store))
        return false;
    struct pollfd fd = {.fd = PQsocket(pg->conn), .events = POLLIN};
    return poll(&fd, 1, 0) == 0;
}

bool pg_connect(struct pg *pg, int64_t until_us)
{
    if (!store_ready(pg->store)) {
        pg_set_error(pg, ERROR_UNAVAILABLE, "PostgreSQL is not ready");
        return false;
    }
    return pg_lives(pg) || pg_open(pg, until_us);
}
