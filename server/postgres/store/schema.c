/*
 * The schema: finds the tables, makes them, or brings them up to date.
 *
 * The tables are where the role's search_path finds seckill_schema, or in the first schema that it
 * names; from then on every session looks there alone, so that a schema that appears later in front
 * of it changes nothing. Of the version that this server knows nothing more is asked, and a role
 * that may not create anything will do. Otherwise one advisory lock is taken in a transaction, the
 * version read again under it, and what is missing is run: of many instances that start together on
 * an empty database one does the work, and the others find nothing left to do. A version above ours
 * means that a newer server has been here: this one must not touch the rows.
 *
 * How it fails: every statement has the caller's deadline, the wait for the lock too; a version's
 * own statements have a longer one where they are run in the background, because an index of a
 * large table takes its time. A session that anything went wrong with is closed, and its
 * transaction with it.
 */
#include "postgres/pg_internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Any number that other programs are unlikely to lock in the same database: "seckill" in ASCII. */
#define SCHEMA_LOCK "32476585539202156"

enum { NO_TABLES = -1 };

/* Reads results up to the last one, which is kept. */
static enum pg_status read_results(struct pg *pg, int64_t until_us)
{
    enum pg_status status = PG_OK;

    for (PGresult *result = NULL;; PQclear(pg->result), pg->result = result) {
        if (!pg_next_result(pg, until_us, &result))
            return pg_give_up(pg, until_us);
        if (!result)
            return status;
        ExecStatusType kind = PQresultStatus(result);
        if (kind != PGRES_COMMAND_OK && kind != PGRES_TUPLES_OK) {
            pg_set_error(pg, ERROR_UNAVAILABLE, PQresultErrorMessage(result));
            status = PG_FAILED;
        }
    }
}

/* Runs plain SQL, several statements allowed, which has no place in pipeline mode. */
static bool script(struct pg *pg, const char *text, int64_t until_us)
{
    enum pg_status status = PG_LOST;

    pg_forget_result(pg);
    if (!pg->conn || !PQexitPipelineMode(pg->conn))
        return error_set(&pg->error, ERROR_INTERNAL, "the session is busy");
    if (PQsendQuery(pg->conn, text) && pg_flush(pg, until_us))
        status = read_results(pg, until_us);
    else
        pg_give_up(pg, until_us);
    return pg->conn && PQenterPipelineMode(pg->conn) && status == PG_OK;
}

/* Looks for the tables in the schema of this name, quoted, alone. */
static bool set_path(struct pg *pg, const char *schema, int64_t until_us)
{
    char path[STORE_PATH_SIZE];
    char text[STORE_PATH_SIZE + 32];

    snprintf(path, sizeof path, "%s, pg_temp", schema);
    snprintf(text, sizeof text, "SET %s search_path TO %s", pg->pooled ? "LOCAL" : "SESSION", path);
    if ((!pg->pooled || pg->in_transaction) && !script(pg, text, until_us))
        return false;
    pg->path_number = store_set_path(pg->store, path);
    return true;
}

/* Where the role's own search_path finds them. */
static bool find_tables(struct pg *pg, int *version, int64_t until_us)
{
    char schema[STORE_PATH_SIZE];

    *version = NO_TABLES;
    if (!script(pg,
                "RESET search_path;"
                "SELECT quote_ident(nspname) FROM pg_class"
                " JOIN pg_namespace ON pg_namespace.oid = relnamespace"
                " WHERE pg_class.oid = to_regclass('seckill_schema')",
                until_us))
        return false;
    if (pg_rows(pg) == 0)
        return true;
    snprintf(schema, sizeof schema, "%s", PQgetvalue(pg->result, 0, 0));
    if (!set_path(pg, schema, until_us) ||
        !script(pg, "SELECT coalesce(max(version), 0) FROM seckill_schema", until_us))
        return false;
    *version = (int)strtol(PQgetvalue(pg->result, 0, 0), NULL, 10);
    return true;
}

static bool make_first_table(struct pg *pg, int64_t until_us)
{
    char schema[STORE_PATH_SIZE];

    if (!script(pg, "SELECT quote_ident(current_schema())", until_us))
        return false;
    if (PQgetisnull(pg->result, 0, 0))
        return error_set(&pg->error, ERROR_UNAVAILABLE,
                         "the role's search_path names no schema that exists");
    snprintf(schema, sizeof schema, "%s", PQgetvalue(pg->result, 0, 0));
    return set_path(pg, schema, until_us) &&
           script(pg, "CREATE TABLE seckill_schema (version integer NOT NULL)", until_us);
}

/* Under the lock: somebody else may have done it meanwhile. */
static bool migrate(struct pg *pg, int *from, int64_t until_us, int64_t schema_until_us)
{
    char text[96];

    if (!script(pg, "BEGIN; SELECT pg_advisory_xact_lock(" SCHEMA_LOCK ")", until_us) ||
        !find_tables(pg, from, until_us))
        return false;
    snprintf(text, sizeof text, "SET LOCAL statement_timeout = %d",
             clock_poll_ms(schema_until_us) + 1);
    if (!script(pg, text, schema_until_us))
        return false;
    if (*from == NO_TABLES && !make_first_table(pg, until_us))
        return false;
    for (int i = *from < 0 ? 0 : *from; i < SQL_SCHEMA_VERSION; i++)
        if (!script(pg, sql_schema[i], schema_until_us))
            return false;
    snprintf(text, sizeof text, "INSERT INTO seckill_schema VALUES (%d)", SQL_SCHEMA_VERSION);
    return (*from >= SQL_SCHEMA_VERSION || script(pg, text, until_us)) &&
           script(pg, "COMMIT", until_us);
}

bool schema_ensure(struct pg *pg, int64_t until_us, int64_t schema_until_us, struct error *error)
{
    int version = NO_TABLES;
    bool done = find_tables(pg, &version, until_us) &&
                (version >= SQL_SCHEMA_VERSION || migrate(pg, &version, until_us, schema_until_us));

    if (!done) {
        *error = pg->error;
        error_prefix(error, "the schema");
        pg_close(pg);
        return false;
    }
    if (version > SQL_SCHEMA_VERSION) {
        pg_close(pg);
        return error_set(
            error, ERROR_UNSUITABLE,
            "the database's schema is version %d and this server knows %d: start the newer "
            "server, or give this one a database of its own (--database)",
            version, SQL_SCHEMA_VERSION);
    }
    if (version < SQL_SCHEMA_VERSION)
        log_info("schema brought from version %d to %d", version < 0 ? 0 : version,
                 SQL_SCHEMA_VERSION);
    return true;
}
