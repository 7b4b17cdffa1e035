/*
 * The database as a whole: created, and prepared before anything is sold and once a second after.
 *
 * Happy path: store_prepare opens a session, sees to the schema, reads the server's state and the
 * database's epoch base, and lets all sessions be used.
 *
 * Failure modes:
 * - PostgreSQL is out of reach: not up; nothing else changes.
 * - The schema is gone, or the database is another one: not ready, until it has been made again.
 * - The server is a standby, read-only, was replaced, or its commits do not come back (for a
 * standby, or a disk): it is up and in trouble (store_trouble), and all sessions are opened anew
 * when that changes.
 */
#include "postgres/pg_internal.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "postgres/connect/canceller.h"
#include "postgres/fast_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMIT_EVERY_US = 1000000,
    COMMIT_MOST_US = 5000000, /* longer than one may wait for a standby that works */
    TELL_AGAIN_US = 60000000
};

/* Four bits a table. */
enum { SIZE_CLASSES = 16 };
_Static_assert(SQL_TABLES < 16, "the classes of all tables fit in a positive int64_t");

struct store *store_create(const char *conninfo, struct store_limits limits,
                           struct store_schema schema, struct error *error)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&store->shared.mutex, NULL);
    cancels_init(&store->cancels);
    atomic_init(&store->trouble, "");
    store->lacks = "";
    store->limits = limits;
    store->schema = schema;
    store->hosts = hosts_create(conninfo, error);
    if (!store->hosts) {
        store_destroy(store);
        return NULL;
    }
    store->fast_path = fast_path_create();
    if (!store->fast_path) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        store_destroy(store);
        return NULL;
    }
    store->elsewhere = pg_create(store);
    store->canceller = store->elsewhere ? canceller_create(store) : NULL;
    if (!store->canceller) {
        error_set(error, ERROR_INTERNAL, "out of memory, or cannot start the canceller thread");
        store_destroy(store);
        return NULL;
    }
    return store;
}

void store_destroy(struct store *store)
{
    if (!store)
        return;
    canceller_destroy(store->canceller);
    pg_destroy(store->elsewhere);
    cancels_fini(&store->cancels);
    pthread_mutex_destroy(&store->shared.mutex);
    hosts_destroy(store->hosts);
    fast_path_destroy(store->fast_path);
    free(store);
}

/* How long it has been this one, as a column of the present result names it. */
static int64_t lasting_us(struct store_lasting *lasting, const struct pg *pg, int column)
{
    char number[sizeof lasting->number] = "";
    int64_t now_us = clock_mono_us();

    if (pg_rows(pg) > 0)
        pg_get_text(pg, 0, column, number, sizeof number);
    if (!number[0] || strcmp(number, lasting->number) != 0) {
        snprintf(lasting->number, sizeof lasting->number, "%s", number);
        lasting->since_us = now_us;
    }
    return now_us - lasting->since_us;
}

/* Of the present result of SQL_SERVER_STATE. */
static const char *find_trouble(const struct pg *pg)
{
    if (pg_get_bool(pg, 0, 4))
        return "it is a standby and cannot be written to";
    if (pg_get_bool(pg, 0, 5))
        return "it is read-only (default_transaction_read_only)";
    if (pg_get_bool(pg, 0, 8))
        return "no standby of synchronous_standby_names is there, and commits would wait for one";
    return "";
}

/* A commit of our own, once a second: where nothing is left to sell nobody else makes one, and a
 * primary that was left behind, or whose disk hangs, can be read from all the same. One that has
 * not come back is waited for no more, and no other is sent while it still is under way, as two
 * looks in a row see: each holds a session of PostgreSQL's. Of the present result of
 * SQL_SERVER_STATE, read before. */
static const char *try_commit(struct store *store, struct pg *pg,
                              const struct store_durability *durability)
{
    int64_t now_us = clock_mono_us();
    bool waits = lasting_us(&store->waiter, pg, 6) > 0;
    bool replicates = pg_is_null(pg, 0, 7) ? durability->standby_names[0] : pg_get_bool(pg, 0, 7);
    bool looked = !store->unseen;

    store->unseen = false;
    if (looked && now_us >= store->commit_at_us && !(store->stalled && waits) &&
        !FAILPOINT_FAILS("probe.commit")) {
        enum pg_status status = pg_exec(pg, SQL_FLUSH_PROBE, PG_NO_ARGS, now_us + COMMIT_MOST_US);
        store->unseen = status == PG_TIMEOUT;
        store->stalled = store->unseen || (store->stalled && status != PG_OK);
        store->commit_at_us = clock_mono_us() + COMMIT_EVERY_US;
        if (status == PG_OK)
            store->lacks = pg_count_standbys(pg, now_us + COMMIT_MOST_US);
        if (status == PG_OK && !*store->lacks) {
            atomic_store_explicit(&store->current_on, pg_server(pg), memory_order_relaxed);
            atomic_store_explicit(&store->current_us, now_us, memory_order_relaxed);
            if (durability->standby_names[0] ||
                store_counts(store)) /* with each probe: what is read is told by it */
                store->commit_at_us = 0;
        }
    }
    return !store->stalled ? store->lacks
           : replicates    ? "commits wait for a synchronous standby that does not answer"
                           : "commits do not come back: does the disk of its log (pg_wal) answer?";
}

/* Of the present result of SQL_SERVER_STATE. */
static struct store_durability read_durability(const struct pg *pg)
{
    struct store_durability now = {.fsync = pg_get_bool(pg, 0, 0),
                                   .full_page_writes = pg_get_bool(pg, 0, 1)};

    pg_get_text(pg, 0, 2, now.synchronous_commit, sizeof now.synchronous_commit);
    pg_get_text(pg, 0, 3, now.standby_names, sizeof now.standby_names);
    bool waits =
        strcmp(now.synchronous_commit, "off") != 0 && strcmp(now.synchronous_commit, "local") != 0;
    now.durable = now.fsync && now.full_page_writes && waits;
    if (!waits)
        now.standby_names[0] = '\0';
    return now;
}

/* Logged when it is not what it was, or at the start. */
static void take_durability(struct store *store, const struct store_durability *now)
{
    bool noted = now->durable || (store_ready(store) && !store_durability(store).durable);
    if (!noted)
        log_warn(
            "PostgreSQL is not durable (fsync, full_page_writes or synchronous_commit is off): "
            "a 201 may be lost in a crash");
    atomic_store_explicit(&store->waits, now->standby_names[0] || store_counts(store),
                          memory_order_relaxed);
    pthread_mutex_lock(&store->shared.mutex);
    store->shared.durability = *now;
    pthread_mutex_unlock(&store->shared.mutex);
}

static bool look_at_server(struct store *store, struct pg *pg, int64_t until_us,
                           struct error *error)
{
    char encoding[32];

    if (pg_exec(pg, SQL_SERVER_STATE, PG_NO_ARGS, until_us) != PG_OK) {
        *error = pg->error;
        atomic_store_explicit(&store->up, false, memory_order_relaxed);
        return false;
    }
    pg_get_text(pg, 0, 9, encoding, sizeof encoding);
    return !encoding[0] ||
           error_set(
               error, ERROR_UNSUITABLE,
               "the database's encoding is %s, which takes no UTF-8: give the server one that "
               "was made with ENCODING 'UTF8' (--database)",
               encoding);
}

bool store_look_at_flusher(struct store *store, struct pg *pg, int64_t until_us)
{
    struct store_durability now = {.durable = false};

    if (pg && pg_exec(pg, SQL_SERVER_STATE, PG_NO_ARGS, until_us) != PG_OK)
        return false;
    if (pg)
        now = read_durability(pg);
    pthread_mutex_lock(&store->shared.mutex);
    store->shared.flusher = now;
    store->shared.has_flusher = pg != NULL;
    bool others_wait = store->shared.durability.durable;
    pthread_mutex_unlock(&store->shared.mutex);
    if (pg && !now.durable && others_wait)
        log_warn("the session that flushes for others does not wait for the disk (its "
                 "synchronous_commit is %s): a 201 may be lost in a crash",
                 now.synchronous_commit);
    return true;
}

/* Whether some table has, however much smaller others are. */
static bool have_grown(int64_t before, int64_t now)
{
    for (; now > 0; now /= SIZE_CLASSES, before /= SIZE_CLASSES)
        if (now % SIZE_CLASSES > before % SIZE_CLASSES)
            return true;
    return false;
}

/* A plan for large tables serves small ones well enough; the other way round it does not. */
static void take_sizes(struct store *store, int64_t sizes)
{
    if (have_grown(store->sizes, sizes))
        atomic_fetch_add_explicit(&store->plans_number, 1, memory_order_relaxed);
    store->sizes = sizes;
}

/* The schema was there and is gone: makes it again, if all of its tables are gone. */
static bool make_again(struct store *store, struct pg *pg, int64_t until_us,
                       int64_t schema_until_us, struct error *error)
{
    struct schema_state state;

    store_doubt(store);
    if (!schema_ensure(pg, until_us, schema_until_us, error) ||
        !schema_check(pg, until_us, &state, error))
        return false;
    if (state.gone == 0)
        return true;
    pg_close(pg);
    return error_set(error, ERROR_UNSUITABLE,
                     "some of the schema's tables are gone: give the server a database of its own "
                     "(--database), or drop what is left of it");
}

/* Another epoch base means another database: sessions with the one before are renewed. */
static bool take_base(struct store *store, struct pg *pg, int64_t until_us, struct error *error)
{
    enum pg_status status = pg_exec(pg, SQL_EPOCH_BASE, PG_NO_ARGS, until_us);
    if (status != PG_OK || pg_rows(pg) != 1) {
        /* That it takes long says nothing of the schema: the open sessions can be sold from. */
        if (status == PG_OK || status == PG_FAILED)
            store_doubt(store);
        if (status == PG_OK)
            error_set(error, ERROR_UNAVAILABLE, "its table epoch_base has to have one row");
        else
            *error = pg->error;
        error_prefix(error, "the schema");
        return false;
    }
    int64_t base = pg_get_int8(pg, 0, 0);
    pthread_mutex_lock(&store->shared.mutex);
    pg_get_text(pg, 0, 1, store->shared.mark, sizeof store->shared.mark);
    pthread_mutex_unlock(&store->shared.mutex);
    int64_t before = atomic_exchange_explicit(&store->epoch_base, base, memory_order_relaxed);
    if (base != before) {
        store_renew_sessions(store);
        pg->generation = store_generation(store);
    }
    return true;
}

/* What of the schema is missing: tables, or rights on them. The rights may come back at any time,
 * and what can be read without them is read; without tables nothing is. */
static bool look_at_schema(struct store *store, struct pg *pg, int64_t until_us,
                           int64_t schema_until_us, struct error *error)
{
    struct schema_state state;

    if (!schema_check(pg, until_us, &state, error))
        return error->code == ERROR_DENIED;
    take_sizes(store, state.sizes);
    return state.gone == 0 || make_again(store, pg, until_us, schema_until_us, error);
}

/* A snapshot that somebody keeps makes selling slower, and nothing else would say so: dead versions
 * of a hot row stay, and every order walks past them. Keeps nobody from selling. */
static void look_at_snapshots(struct store *store, struct pg *pg, int64_t until_us)
{
    enum pg_status status = pg_exec(pg, SQL_OLDEST_HELD, PG_NO_ARGS, until_us);
    bool hidden = status == PG_FAILED;

    if (hidden && !store->snapshots_hidden)
        log_warn("how old snapshots are cannot be seen: %s", pg->error.text);
    store->snapshots_hidden = hidden;
    int64_t age_us = status == PG_OK ? lasting_us(&store->snapshot, pg, 0) : 0;
    atomic_store_explicit(&store->snapshot_us, age_us, memory_order_relaxed);
}

static bool prepare(struct store *store, struct pg *pg, int64_t until_us, int64_t schema_until_us,
                    struct error *error)
{
    struct error lacks = {ERROR_NONE, ""};

    if (*store_trouble(store)) /* its session is closed */
        hosts_leave(store->hosts);
    if (!pg_lives(pg) && !pg_open(pg, until_us)) {
        *error = pg->error;
        return false;
    }
    if (!store_ready(store) && !schema_ensure(pg, until_us, schema_until_us, error))
        return false;
    if (!look_at_server(store, pg, until_us, error))
        return false;
    const char *trouble = find_trouble(pg);
    bool absent = pg_get_bool(pg, 0, 8);
    struct store_durability durability = read_durability(pg);
    int64_t begun_us = clock_mono_us();
    if (!*trouble)
        trouble = try_commit(store, pg, &durability);
    until_us += clock_mono_us() - begun_us;
    atomic_store_explicit(&store->hangs, absent || store->stalled, memory_order_relaxed);
    if (*trouble && store->stalled) {
        store_set_trouble(store, trouble);
        pg_close(pg);
        return error_set(error, ERROR_UNAVAILABLE, "%s", trouble);
    }
    if (!pg_is_open(pg)) { /* lost, or somebody has cancelled its wait for the standby */
        *error = pg->error;
        return false;
    }
    if (!look_at_schema(store, pg, until_us, schema_until_us, &lacks)) {
        *error = lacks;
        return false;
    }
    if (lacks.code != ERROR_NONE)
        trouble = "its role lacks rights";
    if (!*trouble)
        trouble = store_look_elsewhere(store, pg, until_us);
    store_set_trouble(store, trouble);
    if (!take_base(store, pg, until_us, error)) {
        if (lacks.code != ERROR_NONE)
            *error = lacks; /* which is why */
        return false;
    }
    take_durability(store, &durability);
    /* Another session may have failed to connect while this one lived on: who is ready lets
     * everybody try at once. */
    breaker_close(&store->breaker);
    atomic_store_explicit(&store->up, true, memory_order_relaxed);
    atomic_store_explicit(&store->ready, true, memory_order_release);
    if (*trouble) {
        pg_close(pg); /* of several servers another one may be the primary by now */
        *error = lacks;
        return lacks.code != ERROR_NONE ? false
                                        : error_set(error, ERROR_UNAVAILABLE, "%s", trouble);
    }
    look_at_snapshots(store, pg, until_us);
    return true;
}

/* Keeps why the schema cannot be used; what somebody has to grant is logged until it is granted. */
static void note_flaw(struct store *store, const struct error *error)
{
    bool flawed = error->code == ERROR_DENIED || error->code == ERROR_UNSUITABLE;
    int64_t now_us = clock_mono_us();

    pthread_mutex_lock(&store->shared.mutex);
    const char *text = flawed ? error->text : "";
    bool same = strcmp(text, store->shared.flaw) == 0;
    snprintf(store->shared.flaw, sizeof store->shared.flaw, "%s", text);
    pthread_mutex_unlock(&store->shared.mutex);
    if (error->code != ERROR_DENIED || (same && now_us - store->flaw_told_us < TELL_AGAIN_US))
        return;
    store->flaw_told_us = now_us;
    log_error("PostgreSQL: %s", text);
}

bool store_prepare(struct store *store, struct pg *pg, int64_t until_us, int64_t schema_until_us,
                   struct error *error)
{
    struct error why = {ERROR_NONE, ""};
    bool done = prepare(store, pg, until_us, schema_until_us, &why);

    note_flaw(store, &why);
    if (!done)
        *error = why;
    return done;
}
