/*
 * Opening a session: one address after the other, what a session sets for itself, and whether a
 * session still lives.
 *
 * Happy path: pg_connect finds an idle session that lives. Otherwise each host gets a share of the
 * caller's time, for its name and each address behind it, and no more than connect_timeout; the
 * first server that is what target_session_attrs asks for gets the session's settings, and its
 * database is compared.
 *
 * Failure modes:
 * - A name cannot be resolved, or not in its share of the time: the next host is tried.
 * - An address is silent, cannot be reached, is starting or stopping, or is not what
 *   target_session_attrs asks for: the next one is tried.
 * - A server says anything else (no such database): that holds for all addresses, as in libpq. A
 *   login that is refused has the password's file read again, for the next attempt.
 * - PostgreSQL, the database or the role allows no more sessions: that is no failure of PostgreSQL,
 *   the open sessions go on. A worker that can do without one stands back; one that cannot sets
 *   store_wants_room, and another one makes room.
 * - The connect fails: nobody tries for a moment (base/connect/breaker.h).
 */
#include "postgres/pg_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "metrics/cost.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define CANNOT_CONNECT_NOW   "57P03"
#define LOGIN_REFUSED        "28" /* the class: a wrong password, no such role, pg_hba.conf */
#define TOO_MANY_CONNECTIONS "53300"
/* What the connection string asks of it: an encoding that it cannot convert, or none. */
#define NOT_SUPPORTED     "0A000"
#define INVALID_PARAMETER "22023"

enum {
    PROOF_US = 1000000,
    FULL_US = 1000000,
    TELL_AGAIN_US = 60000000,
    LONGEST_US = 5000000, /* who has more time tries again */
    STATE_LENGTH = 5
};

enum attempt {
    CONNECTED,
    SILENT,     /* no answer in its share of the time */
    UNSUITABLE, /* another address may do */
    DENIED      /* by the server: every other address would answer the same */
};

/* A wait for the synchronous standby that somebody cancelled ends with a WARNING and a commit that
 * no standby may have. Its code, 01000, is that of most warnings, and its text is translated; the
 * function that it comes from is not. (A wait that the server's end breaks off has no answer behind
 * it, and so is lost like any other.) */
static void take_notice(void *context, const PGresult *notice)
{
    struct pg *pg = context;
    const char *state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
    const char *function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);

    if (state && function && strcmp(state, "01000") == 0 &&
        strcmp(function, "SyncRepWaitForLSN") == 0)
        pg->unreplicated = true;
}

static bool is_state(const char *text)
{
    for (int i = 0; i < STATE_LENGTH; i++)
        if (!isdigit((unsigned char)text[i]) && !isupper((unsigned char)text[i]))
            return false;
    return strncmp(text + STATE_LENGTH, ": ", 2) == 0;
}

/* A connect has no PGresult; its SQLSTATE stands in the message when that is verbose: "FATAL:
 * 53300: sorry, …". NULL: it is not the server's. */
static const char *find_state(const char *message)
{
    for (const char *at = message; (at = strstr(at, ":  ")); at++)
        if (is_state(at + 3))
            return at + 3;
    return NULL;
}

/* The message without what is for PostgreSQL's developers. */
static void set_connect_error(struct pg *pg)
{
    char text[sizeof pg->error.text];

    snprintf(text, sizeof text, "%s", PQerrorMessage(pg->conn));
    char *location = strstr(text, "\nLOCATION:");
    if (location)
        *location = '\0';
    pg_set_error(pg, ERROR_UNAVAILABLE, text);
}

static enum attempt judge_failure(struct pg *pg)
{
    const char *state = find_state(PQerrorMessage(pg->conn));
    bool other = !state || strncmp(state, CANNOT_CONNECT_NOW, STATE_LENGTH) == 0;

    set_connect_error(pg);
    pg->refused = state && strncmp(state, TOO_MANY_CONNECTIONS, STATE_LENGTH) == 0;
    if (state && (strncmp(state, NOT_SUPPORTED, STATE_LENGTH) == 0 ||
                  strncmp(state, INVALID_PARAMETER, STATE_LENGTH) == 0))
        pg->error.code = ERROR_UNSUITABLE;
    if (state && strncmp(state, LOGIN_REFUSED, strlen(LOGIN_REFUSED)) == 0) {
        atomic_store_explicit(&pg->store->login_refused, true, memory_order_relaxed);
        if (hosts_read_password(pg->store->hosts))
            log_info("PostgreSQL refuses the login: SECKILL_DATABASE_FILE has another password");
    }
    return other ? UNSUITABLE : DENIED;
}

static enum attempt attempt(struct pg *pg, const struct host_address *address,
                            const char *attributes, int64_t until_us)
{
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;

    pg->conn = hosts_connect(pg->store->hosts, address, attributes, pg->name);
    if (!pg->conn) {
        pg_set_error(pg, ERROR_UNAVAILABLE, "out of memory");
        return DENIED;
    }
    atomic_fetch_add_explicit(&pg->store->sessions, 1, memory_order_relaxed);
    PQsetNoticeReceiver(pg->conn, take_notice, pg);
    PQsetErrorVerbosity(pg->conn, PQERRORS_VERBOSE);
    while (PQstatus(pg->conn) != CONNECTION_BAD && state != PGRES_POLLING_OK &&
           state != PGRES_POLLING_FAILED) {
        if (!pg_wait_socket(pg, state == PGRES_POLLING_READING ? POLLIN : POLLOUT, until_us)) {
            error_set(&pg->error, ERROR_TIMEOUT, "no connection in time to %s%s%s port %s",
                      address->name, *address->address ? " " : "", address->address, address->port);
            return SILENT;
        }
        state = PQconnectPoll(pg->conn);
    }
    if (PQstatus(pg->conn) != CONNECTION_OK)
        return judge_failure(pg);
    PQsetErrorVerbosity(pg->conn, PQERRORS_DEFAULT);
    pg->unreplicated = false; /* a warning while connecting was about something else */
    pg->address = *address;
    return CONNECTED;
}

/* Joins the errors of several addresses; an answer outranks silence. */
static void add_error(struct error *all, const struct error *one)
{
    struct error before = *all;

    error_set(all, before.code == ERROR_UNAVAILABLE ? before.code : one->code, "%s%s%s",
              before.text, *before.text ? "; " : "", one->text);
}

/* The hosts of one connect; they are tried twice where no address offers what is wanted. */
struct tries {
    struct host_walk walk;
    bool silent[HOST_ADDRESSES_MAX];
    struct error all;
    int64_t until_us;
};

static int64_t share_until(const struct tries *at, int hosts_left)
{
    int64_t now_us = clock_mono_us();

    return now_us +
           clock_earlier((at->until_us - now_us) / hosts_left, hosts_timeout_us(at->walk.hosts));
}

/* True: no other address is to be tried. */
static bool try_address(struct pg *pg, struct tries *at, int i, const char *attributes,
                        int hosts_left, bool *connected)
{
    enum attempt result = attempt(pg, &at->walk.list[i], attributes, share_until(at, hosts_left));

    *connected = result == CONNECTED;
    if (result == CONNECTED)
        hosts_reached(at->walk.hosts, &at->walk.list[i]);
    if (result == CONNECTED || result == DENIED)
        return true;
    at->silent[i] = result == SILENT;
    return false;
}

static bool connect_somewhere(struct pg *pg, int64_t until_us)
{
    struct tries at = {.until_us = until_us};
    bool connected = false;

    hosts_walk(pg->store->hosts, &at.walk);
    for (int i = 0; i < at.walk.count;) {
        int hosts_left = at.walk.count - i + (hosts_accepted(&at.walk) != NULL);
        if (hosts_is_name(&at.walk.list[i])) {
            if (!hosts_resolve(&at.walk, i, share_until(&at, hosts_left), &pg->stopped, &pg->error))
                add_error(&at.all, &pg->error);
            continue;
        }
        if (try_address(pg, &at, i++, hosts_wanted(&at.walk), hosts_left, &connected))
            return connected;
        add_error(&at.all, &pg->error);
        pg_close(pg);
    }
    const char *accepted = hosts_accepted(&at.walk);
    for (int i = 0; accepted && i < at.walk.count; i++) {
        if (at.silent[i])
            continue;
        if (try_address(pg, &at, i, accepted, at.walk.count - i, &connected))
            return connected;
        pg_close(pg);
    }
    pg->error = at.all;
    return false;
}

static bool go_on(struct pg *pg)
{
    return PQsetnonblocking(pg->conn, 1) == 0 && PQenterPipelineMode(pg->conn) == 1;
}

static bool open_session(struct pg *pg, int64_t until_us)
{
    if (!connect_somewhere(pg, until_us) || !go_on(pg) || !pg_set_up(pg, until_us))
        return false;
    atomic_store(&pg->cancel,
                 cancel_request_create(pg->pooled ? 0 : PQbackendPID(pg->conn), &pg->address));
    return atomic_load(&pg->cancel) != NULL;
}

bool pg_open_at(struct pg *pg, const struct host_address *address, int64_t until_us)
{
    pg_close(pg);
    if (attempt(pg, address, "any", until_us) == CONNECTED && go_on(pg))
        return true;
    pg_close(pg);
    return false;
}

/* Logged once, and again when it has been over in between. */
static void note_limit(struct pg *pg)
{
    struct store *store = pg->store;
    int64_t now_us = clock_mono_us();
    int64_t told_us = atomic_load_explicit(&store->told_us, memory_order_relaxed);

    atomic_store_explicit(&store->full_until_us, now_us + FULL_US, memory_order_relaxed);
    if (!pg->stands_back)
        atomic_store_explicit(&store->wanted_until_us, now_us + FULL_US, memory_order_relaxed);
    bool again = atomic_exchange_explicit(&store->limited, true, memory_order_relaxed);
    if (again || (told_us && now_us - told_us < TELL_AGAIN_US))
        return;
    atomic_store_explicit(&store->told_us, now_us, memory_order_relaxed);
    log_warn("PostgreSQL allows this server no more sessions (--pg-sessions): %s", pg->error.text);
}

static void note_opened(struct pg *pg)
{
    atomic_store_explicit(&pg->store->limited, false, memory_order_relaxed);
    atomic_store_explicit(&pg->store->login_refused, false, memory_order_relaxed);
    breaker_close(&pg->store->breaker);
    atomic_store_explicit(&pg->store->up, true, memory_order_relaxed);
}

bool pg_open(struct pg *pg, int64_t until_us)
{
    int64_t begun_us = clock_mono_us();

    pg_close(pg);
    pg->refused = pg->stands_back &&
                  begun_us < atomic_load_explicit(&pg->store->full_until_us, memory_order_relaxed);
    if (pg->refused) {
        pg_set_error(pg, ERROR_UNAVAILABLE, "PostgreSQL allows no more sessions");
        return false;
    }
    if (breaker_is_open(&pg->store->breaker)) {
        pg_set_error(pg, ERROR_UNAVAILABLE, "PostgreSQL was out of reach a moment ago");
        return false;
    }
    until_us = clock_earlier(until_us, begun_us + LONGEST_US);
    if (open_session(pg, until_us)) {
        pg->opened++;
        note_opened(pg);
        return true;
    }
    if (pg->refused)
        note_limit(pg);
    else if (pg->unsuited)
        atomic_store_explicit(&pg->store->up, true, memory_order_relaxed);
    else if (breaker_trip(&pg->store->breaker, begun_us, until_us, PROOF_US))
        atomic_store_explicit(&pg->store->up, false, memory_order_relaxed);
    error_prefix(&pg->error, "connecting to PostgreSQL");
    pg_close(pg);
    return false;
}

/* Whether the session can be used. An idle session with something to read was ended by the server
 * (or has heard of a reloaded setting: then a new session costs little). A session that was
 * interrupted may yet be cancelled; one of an earlier generation may look for the tables in the
 * wrong place. */
bool pg_lives(struct pg *pg)
{
    if (!pg->conn || !atomic_load(&pg->cancel) || pg->in_transaction || pg->begin_pending ||
        pg->generation != store_generation(pg->store))
        return false;
    struct pollfd fd = {.fd = PQsocket(pg->conn), .events = POLLIN};
    return poll(&fd, 1, 0) == 0;
}

/* False: the new session is with another database, made again under the old one's name. */
static bool is_same_database(struct pg *pg, int64_t until_us)
{
    struct cost before = cost_of_thread[COST_POSTGRESQL];
    enum pg_status status = pg_exec(pg, SQL_EPOCH_BASE, PG_NO_ARGS, until_us);

    cost_of_thread[COST_POSTGRESQL] = before;
    if (status == PG_OK && pg_rows(pg) == 1 && pg_get_int8(pg, 0, 0) == pg_epoch_base(pg))
        return true;
    if (status == PG_OK) {
        store_doubt(pg->store);
        pg_set_error(pg, ERROR_UNAVAILABLE, "the database is not the one that it was");
    }
    pg_close(pg);
    return false;
}

/* A session that cannot do that is of no use, as one that does not live. */
static bool renew_plans(struct pg *pg, int64_t until_us)
{
    if (!pg_plans_outgrown(pg))
        return true;
    struct cost before = cost_of_thread[COST_POSTGRESQL];
    unsigned number = atomic_load_explicit(&pg->store->plans_number, memory_order_relaxed);
    enum pg_status status = pg_exec(pg, SQL_DISCARD_PLANS, PG_NO_ARGS, until_us);
    cost_of_thread[COST_POSTGRESQL] = before;
    pg->plans_number = number;
    return status == PG_OK;
}

bool pg_connect(struct pg *pg, int64_t until_us)
{
    if (!store_ready(pg->store)) {
        pg_set_error(pg, ERROR_UNAVAILABLE, "PostgreSQL is not ready");
        return false;
    }
    return (pg_lives(pg) && renew_plans(pg, until_us)) ||
           (pg_open(pg, until_us) && is_same_database(pg, until_us));
}
