#include "dispatch/background.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "postgres/pg.h"
#include "strategy/backends.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROBE_US = 500000,
    PROBE_TIMEOUT_US = 2000000,
    SCHEMA_FIRST_US = 5000000,  /* what stalls is begun anew in seconds, */
    SCHEMA_MOST_US = 300000000, /* and an index of a large table has its time in the end */
    OTHERS_TIMEOUT_US = 1000000,
    PURGE_TIMEOUT_US = 5000000, /* no probe is made meanwhile */
    PURGE_ENOUGH_US = 1000000,  /* then a piece is committed, with so many sales as it has */
    PURGE_ROWS = 2000,
    PURGE_SALES = 100,
    PURGE_PAUSE_US = 20000,
    SWEEP_US = 250000, /* how late a hold may end */
    SWEEP_PAUSE_US = 50000,
    TOLD_SIZE = 768
};

struct background {
    const struct services *services; /* borrowed: app */
    struct background_calls calls;
    struct pg *pg;        /* owned; the thread's */
    int64_t schema_us;    /* how long the schema may take the next time */
    struct error last;    /* what was logged, so that a dead backend is not logged twice a second */
    bool purge_fails;     /* that was logged, too */
    int64_t purge_rows;   /* most of a piece: fewer where these took too long */
    char told[TOLD_SIZE]; /* to the service manager */
    void *with[BACKEND_COUNT]; /* owned: a session of each other backend that is probed */
    int first;                 /* of their nodes: which is asked first the next time */
    pthread_t thread;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        bool stopping;
    } shared;
};

static bool is_stopping(struct background *background)
{
    pthread_mutex_lock(&background->shared.mutex);
    bool stopping = background->shared.stopping;
    pthread_mutex_unlock(&background->shared.mutex);
    return stopping;
}

static int count_nodes(const struct background *background, int id)
{
    const struct backend *row = backend_at(id);

    if (!background->with[id])
        return 0;
    return row->nodes ? row->nodes(background->services->backends[id]) : 1;
}

static void probe_node(struct background *background, int node, int64_t until_us)
{
    int id = 0;

    for (; node >= count_nodes(background, id); id++)
        node -= count_nodes(background, id);
    backend_at(id)->probe(background->with[id], node, background->services->settings, until_us);
}

/* All Redis servers share one time limit, so that silent ones do not delay PostgreSQL's probe
 * longer; each is asked first in its turn. */
static void probe_others(struct background *background)
{
    int64_t until_us = clock_mono_us() + OTHERS_TIMEOUT_US;
    int count = 0;

    for (int id = 0; id < BACKEND_COUNT; id++)
        count += count_nodes(background, id);
    for (int i = 0; i < count && !is_stopping(background) && clock_mono_us() < until_us; i++)
        probe_node(background, (background->first + i) % count, until_us);
    background->first = count ? (background->first + 1) % count : 0;
}

static void probe_postgresql(struct background *background)
{
    struct error error = {ERROR_NONE, ""};
    int64_t now_us = clock_mono_us();
    int64_t until_us = now_us + PROBE_TIMEOUT_US;
    if (!store_prepare(services_store(background->services), background->pg, until_us,
                       now_us + background->schema_us, &error) &&
        !pg_is_refused(background->pg) && error.code != ERROR_DENIED &&
        strcmp(error.text, background->last.text) != 0 && !is_stopping(background))
        log_warn("PostgreSQL: %s", error.text);
    else if (error.code == ERROR_NONE && background->last.code != ERROR_NONE)
        log_info("PostgreSQL is back");
    if (!pg_is_refused(background->pg))
        background->last = error;
    if (clock_mono_us() - now_us >= background->schema_us)
        background->schema_us = clock_earlier(2 * background->schema_us, SCHEMA_MOST_US);
}

static void tell_manager(void *to, const char *name, bool up, const char *detail)
{
    struct background *background = to;
    char lines[TOLD_SIZE];

    if (strcmp(name, backend_at(BACKEND_POSTGRESQL)->name) != 0)
        return;
    if (up)
        snprintf(lines, sizeof lines, "READY=1\nSTATUS=ready for orders");
    else
        snprintf(lines, sizeof lines, "STATUS=not ready for orders: PostgreSQL: %.*s",
                 (int)strcspn(detail, "\n"), detail);
    if (strcmp(lines, background->told) == 0)
        return;
    snprintf(background->told, sizeof background->told, "%s", lines);
    notify_manager(lines);
}

/* One piece of the purge. */
struct piece {
    struct error error; /* of the statement that failed */
    int64_t product_id; /* the last sale that was looked at */
    int64_t epoch;
    int64_t most; /* rows */
    int64_t rows; /* that were deleted, the sales that were ended among them */
    int sales;
};

static bool purge_exec(struct pg *pg, enum sql statement, const struct pg_value *values, int count,
                       int64_t until_us, struct piece *piece)
{
    if (pg_exec(pg, statement, values, count, until_us) == PG_OK)
        return true;
    piece->error = *pg_error(pg);
    return false;
}

/* True when there were no more rows than a piece may have. */
static bool purge_rows(struct pg *pg, enum sql statement, const struct pg_value *values, int count,
                       int64_t until_us, struct piece *piece)
{
    if (!purge_exec(pg, statement, values, count, until_us, piece))
        return false;
    piece->rows += pg_affected(pg);
    return pg_affected(pg) < piece->most;
}

/* Rows of the next ended sale. False when there is none, or a statement failed. */
static bool purge_sale(struct pg *pg, int64_t until_us, struct piece *piece)
{
    if (!purge_exec(pg, SQL_RETIRED_NEXT,
                    PG_ARGS(pg_int8(piece->product_id), pg_int8(piece->epoch)), until_us, piece) ||
        pg_rows(pg) != 1)
        return false;
    piece->product_id = pg_get_int8(pg, 0, 0);
    piece->epoch = pg_get_int8(pg, 0, 1);
    piece->sales++;
    struct pg_value product = pg_int8(piece->product_id);
    struct pg_value epoch = pg_int8(piece->epoch);
    struct pg_value most = pg_int8(piece->most);
    bool done =
        purge_rows(pg, SQL_PURGE_PURCHASES, PG_ARGS(product, epoch, most), until_us, piece) &&
        purge_rows(pg, SQL_PURGE_ORDERS, PG_ARGS(product, epoch, most), until_us, piece) &&
        purge_rows(pg, SQL_PURGE_CHANGES, PG_ARGS(product, epoch, most), until_us, piece) &&
        purge_rows(pg, SQL_PURGE_RESTOCKS, PG_ARGS(product, epoch), until_us, piece) &&
        purge_rows(pg, SQL_RETIRED_DONE, PG_ARGS(product, epoch), until_us, piece);
    (void)done; /* a piece of a sale is committed, too; the next piece goes on with it */
    return piece->error.code == ERROR_NONE;
}

/* Nobody waits for the purge, so that only the log can tell. */
static void note_purge(struct background *background, const struct error *error)
{
    bool fails = error->code != ERROR_NONE;

    if (fails && !background->purge_fails && !is_stopping(background))
        log_warn("the rows of ended sales are not deleted for now: %s", error->text);
    background->purge_fails = fails;
}

/* A piece that takes too long is undone, so the next one is smaller, until one is not. It grows
 * again when it was full: one with nothing in it may have met what PostgreSQL still undoes. */
static int64_t next_piece_rows(const struct piece *piece)
{
    if (piece->error.code != ERROR_NONE)
        return piece->most > 1 ? piece->most / 2 : 1;
    if (piece->rows < piece->most)
        return piece->most;
    return piece->most < PURGE_ROWS / 2 ? piece->most * 2 : PURGE_ROWS;
}

/* One piece: part of a large sale, or many small ones. True when there may be more that is not
 * locked. */
static bool purge(struct background *background)
{
    struct pg *pg = background->pg;
    int64_t now_us = clock_mono_us();
    int64_t until_us = now_us + PURGE_TIMEOUT_US;
    int64_t enough_us = now_us + PURGE_ENOUGH_US;
    struct piece piece = {.error = {ERROR_NONE, ""}, .most = background->purge_rows};

    if (!pg_connect(pg, until_us))
        return false;
    pg_begin(pg);
    if (purge_rows(pg, SQL_REENTER_ORDERS, PG_ARGS(pg_int8(piece.most)), until_us, &piece))
        purge_rows(pg, SQL_REENTER_CHANGES, PG_ARGS(pg_int8(piece.most)), until_us, &piece);
    while (piece.error.code == ERROR_NONE && piece.rows < piece.most && piece.sales < PURGE_SALES &&
           purge_sale(pg, until_us, &piece) && clock_mono_us() < enough_us)
        ;
    note_purge(background, &piece.error);
    background->purge_rows = next_piece_rows(&piece);
    /* It may wait for a standby that is gone, which the next probe has to find out. */
    bool more = piece.error.code == ERROR_NONE && piece.rows > 0 &&
                pg_commit(pg, clock_mono_us() + PROBE_TIMEOUT_US) == PG_OK;
    pg_rollback(pg, until_us);
    return more;
}

/* The holds that are over. True when there may be more. */
static bool sweep(struct background *background)
{
    return pg_connect(background->pg, clock_mono_us() + PROBE_TIMEOUT_US) &&
           background->calls.sweep(background->calls.context, background->pg);
}

/* The times at which something is next to be done; monotonic. */
struct due {
    int64_t probe_us;
    int64_t purge_us;
    int64_t sweep_us;
};

static void work(struct background *background, struct due *due)
{
    if (clock_mono_us() >= due->probe_us) {
        probe_postgresql(background);
        backends_report(background->services, tell_manager, background);
        probe_others(background);
        due->probe_us = clock_mono_us() + PROBE_US;
    }
    bool serves =
        background->last.code == ERROR_NONE && store_serves(services_store(background->services));
    if (serves && clock_mono_us() >= due->sweep_us) {
        bool more = sweep(background);
        due->sweep_us = clock_mono_us() + (more ? SWEEP_PAUSE_US : SWEEP_US);
    }
    if (serves && clock_mono_us() >= due->purge_us) {
        bool more = purge(background) && !background->calls.busy(background->calls.context);
        due->purge_us = more ? clock_mono_us() + PURGE_PAUSE_US : due->probe_us;
    }
    if (!serves)
        due->sweep_us = due->purge_us = due->probe_us;
}

static void *background_main(void *argument)
{
    struct background *background = argument;
    struct due due = {0, 0, 0};

    pthread_mutex_lock(&background->shared.mutex);
    while (!background->shared.stopping) {
        pthread_mutex_unlock(&background->shared.mutex);
        work(background, &due);
        struct timespec wake =
            clock_timespec(clock_earlier(due.probe_us, clock_earlier(due.purge_us, due.sweep_us)));
        pthread_mutex_lock(&background->shared.mutex);
        if (!background->shared.stopping)
            pthread_cond_timedwait(&background->shared.changed, &background->shared.mutex, &wake);
    }
    pthread_mutex_unlock(&background->shared.mutex);
    return NULL;
}

static void release(struct background *background)
{
    pthread_cond_destroy(&background->shared.changed);
    pthread_mutex_destroy(&background->shared.mutex);
    pg_destroy(background->pg);
    for (int id = 0; id < BACKEND_COUNT; id++)
        if (background->with[id])
            backend_at(id)->session_close(background->with[id]);
    free(background);
}

static bool open_sessions(struct background *background)
{
    for (int id = 0; id < BACKEND_COUNT; id++) {
        void *backend = background->services->backends[id];
        if (!backend || !backend_at(id)->probe)
            continue;
        background->with[id] = backend_at(id)->session_open(backend);
        if (!background->with[id])
            return false;
    }
    return true;
}

struct background *background_create(const struct services *services,
                                     const struct background_calls *calls)
{
    struct background *background = calloc(1, sizeof *background);

    if (!background)
        return NULL;
    background->services = services;
    background->calls = *calls;
    background->purge_rows = PURGE_ROWS;
    background->schema_us = SCHEMA_FIRST_US;
    background->pg = pg_create(services_store(services));
    pthread_mutex_init(&background->shared.mutex, NULL);
    clock_cond_init(&background->shared.changed);
    if (!background->pg || !open_sessions(background) ||
        pthread_create(&background->thread, NULL, background_main, background) != 0) {
        release(background);
        return NULL;
    }
    return background;
}

void background_destroy(struct background *background)
{
    if (!background)
        return;
    pthread_mutex_lock(&background->shared.mutex);
    background->shared.stopping = true;
    pthread_cond_broadcast(&background->shared.changed);
    pthread_mutex_unlock(&background->shared.mutex);
    pg_stop(background->pg); /* what it does is begun again by the next server */
    pthread_join(background->thread, NULL);
    release(background);
}
