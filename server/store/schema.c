/*
 * The schema: finds the tables, makes them, or brings them up to date.
 *
 * The tables are where the session's search_path finds seckill_schema. Of the version that this
 * server knows nothing more is asked, and a role that may not create anything will do. Otherwise
 * one advisory lock is taken in a transaction, the version read again under it, and what is missing
 * is run: of many instances that start together on an empty database one does the work, and the
 * others find nothing left to do. A version above ours means that a newer server has been here:
 * this one must not touch the rows.
 *
 * How it fails: every statement has the caller's deadline, the wait for the lock too; a version's
 * own statements have a longer one where they are run in the background, because an index of a
 * large table takes its time. A session that anything went wrong with is closed, and its
 * transaction with it.
 */
#include "store/pg_internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Any number that other programs are unlikely to lock in the same database: "seckill" in ASCII. */
#define SCHEMA_LOCK "32476585539202156"

enum { NO_TABLES = -1 };

/* Reads results up to the last one, which is kept; false: a statement failed, or none came in time.
 */
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

static bool read_version(struct pg *pg, int *version, int64_t until_us)
{
    *version = NO_TABLES;
    if (!script(pg, "SELECT to_regclass('seckill_schema') IS NOT NULL", until_us))
        return false;
    if (strcmp(PQgetvalue(pg->result, 0, 0), "t") != 0)
        return true;
    if (!script(pg, "SELECT coalesce(max(version), 0) FROM seckill_schema", until_us))
        return false;
    *version = (int)strtol(PQgetvalue(pg->result, 0, 0), NULL, 10);
    return true;
}

/* Under the lock: somebody else may have done it meanwhile. */
static bool migrate(struct pg *pg, int *from, int64_t until_us, int64_t schema_until_us)
{
    char text[96];

    if (!script(pg, "BEGIN; SELECT pg_advisory_xact_lock(" SCHEMA_LOCK ")", until_us) ||
        !read_version(pg, from, until_us))
        return false;
    snprintf(text, sizeof text, "SET LOCAL statement_timeout = %d",
             clock_poll_ms(schema_until_us) + 1);
    if (!script(pg, text, schema_until_us))
        return false;
    if (*from == NO_TABLES &&
        !script(pg, "CREATE TABLE seckill_schema (version integer NOT NULL)", until_us))
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
    bool done = read_version(pg, &version, until_us) &&
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
