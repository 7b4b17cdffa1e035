/*
 * The database as a whole: where it is, whether it is ready, and its schema.
 *
 * Many instances may start together on an empty database. Each takes one advisory lock in a
 * transaction, reads the schema's version under it and runs what is missing; the losers find
 * nothing left to do. A version above ours means that a newer server has been here: this one must
 * not touch the rows.
 */
#include "store/pg_internal.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

/* Any number that other programs are unlikely to lock in the same database: "seckill" in ASCII. */
#define SCHEMA_LOCK "32476585539202156"

struct store *store_create(const char *conninfo, struct store_limits limits, struct error *error)
{
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(conninfo, &message);

    if (!options) {
        error_set(error, ERROR_INVALID, "--database: %s", message ? message : "out of memory");
        PQfreemem(message);
        return NULL;
    }
    PQconninfoFree(options);

    struct store *store = calloc(1, sizeof *store);
    if (!store) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    store->limits = limits;
    store->conninfo = strdup(conninfo);
    store->canceller = canceller_create();
    if (!store->conninfo || !store->canceller) {
        error_set(error, ERROR_INTERNAL, "cannot start the canceller thread");
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
    free(store->conninfo);
    free(store);
}

bool store_up(const struct store *store)
{
    return atomic_load_explicit(&store->up, memory_order_relaxed);
}

bool store_ready(const struct store *store)
{
    return atomic_load_explicit(&store->ready, memory_order_acquire);
}

bool store_durable(const struct store *store)
{
    return atomic_load_explicit(&store->durable, memory_order_relaxed);
}

/* Plain SQL has no place in pipeline mode, and the schema needs several statements in one text. */
enum pg_status pg_script(struct pg *pg, const char *text, int64_t until_us)
{
    (void)until_us; /* statement_timeout bounds it on the server's side */
    PQclear(pg->result);
    pg->result = NULL;
    if (!PQexitPipelineMode(pg->conn)) {
        error_set(&pg->error, ERROR_INTERNAL, "the session is busy");
        return PG_FAILED;
    }
    PQsetnonblocking(pg->conn, 0);
    PGresult *result = PQexec(pg->conn, text);
    ExecStatusType kind = PQresultStatus(result);
    if (kind == PGRES_COMMAND_OK || kind == PGRES_TUPLES_OK) {
        pg->result = result;
    } else {
        error_set(&pg->error, ERROR_UNAVAILABLE, "%s", PQerrorMessage(pg->conn));
        PQclear(result);
    }
    PQsetnonblocking(pg->conn, 1);
    PQenterPipelineMode(pg->conn);
    return pg->result ? PG_OK : PG_FAILED;
}

static bool read_version(struct pg *pg, int *version, int64_t until_us)
{
    if (pg_script(pg,
                  "SELECT pg_advisory_xact_lock(" SCHEMA_LOCK ");"
                  "CREATE TABLE IF NOT EXISTS seckill_schema (version integer NOT NULL);"
                  "SELECT coalesce(max(version), 0) FROM seckill_schema",
                  until_us) != PG_OK)
        return false;
    *version = (int)strtol(PQgetvalue(pg->result, 0, 0), NULL, 10);
    return true;
}

static bool migrate(struct pg *pg, int from, int64_t until_us)
{
    char done[64];

    for (int i = from; i < SQL_SCHEMA_VERSION; i++)
        if (pg_script(pg, sql_schema[i], until_us) != PG_OK)
            return false;
    snprintf(done, sizeof done, "INSERT INTO seckill_schema VALUES (%d)", SQL_SCHEMA_VERSION);
    return from == SQL_SCHEMA_VERSION || pg_script(pg, done, until_us) == PG_OK;
}

static bool ensure_schema(struct pg *pg, int64_t until_us, struct error *error)
{
    int version = 0;

    bool done = pg_script(pg, "BEGIN", until_us) == PG_OK && read_version(pg, &version, until_us);
    if (done && version > SQL_SCHEMA_VERSION) {
        pg_close(pg);
        return error_set(
            error, ERROR_UNSUITABLE,
            "the database's schema is version %d and this server knows %d: start the newer "
            "server, or give this one a database of its own (--database)",
            version, SQL_SCHEMA_VERSION);
    }
    done = done && migrate(pg, version, until_us) && pg_script(pg, "COMMIT", until_us) == PG_OK;
    if (!done) {
        *error = pg->error;
        error_prefix(error, "the schema");
        pg_close(pg);
    } else if (version < SQL_SCHEMA_VERSION) {
        log_info("schema brought from version %d to %d", version, SQL_SCHEMA_VERSION);
    }
    return done;
}

bool store_prepare(struct store *store, struct pg *pg, int64_t until_us, struct error *error)
{
    if (!pg_lives(pg) && !pg_open(pg, until_us)) {
        *error = pg->error;
        return false;
    }
    if (!store_ready(store) && !ensure_schema(pg, until_us, error))
        return false;
    if (pg_exec(pg, SQL_DURABILITY, PG_NO_ARGS, until_us) != PG_OK) {
        *error = pg->error;
        atomic_store_explicit(&store->up, false, memory_order_relaxed);
        return false;
    }
    bool durable = pg_get_bool(pg, 0, 0);
    if (!pg_get_bool(pg, 0, 1)) {
        pg_close(pg);
        return error_set(error, ERROR_UNSUITABLE,
                         "PostgreSQL is a standby and cannot be written to");
    }
    if (!durable && (store_durable(store) || !store_ready(store)))
        log_warn(
            "PostgreSQL is not durable (fsync, full_page_writes or synchronous_commit is off): "
            "a 201 may be lost in a crash");
    atomic_store_explicit(&store->durable, durable, memory_order_relaxed);
    /* Another session may have failed to connect while this one lived on: whoever is told that
     * PostgreSQL is up may try at once. */
    atomic_store_explicit(&store->closed_until_us, 0, memory_order_relaxed);
    atomic_store_explicit(&store->up, true, memory_order_relaxed);
    atomic_store_explicit(&store->ready, true, memory_order_release);
    return true;
}
