/*
 * The schema: finds the tables, makes them, or brings them up to date.
 *
 * The tables are in the schema that --schema names. With its default, and no tables of ours there,
 * they are where the role's search_path finds the table of versions: servers before --schema put
 * them there, and a shop that is upgraded goes on with its rows. From then on every statement names
 * that schema, so no search_path matters, a session's or a pooler's, and nobody else's tables are
 * touched whatever they are called.
 *
 * Happy path: one look into the catalog, one at the rights, one at the version. Of the version that
 * this server knows nothing more is asked, and a role that may not create anything will do.
 * Otherwise one advisory lock is taken in a transaction, everything looked at again under it, and
 * what is missing is made: of many instances that start together on an empty database one does the
 * work, and the others find nothing left to do.
 *
 * Failure modes:
 * - A right is missing: ERROR_DENIED with the statement that gives it.
 * - The version is above ours: a newer server has been here, and this one must not touch the rows.
 * - The tables are missing or old, and the server is to leave that to somebody else.
 * - PostgreSQL is slow: every statement has the caller's deadline, the wait for the lock too; what
 *   changes tables has a longer one where it is run in the background, because an index of a large
 *   table takes its time. A session that anything went wrong with is closed, and its transaction
 *   with it.
 */
#include "postgres/pg_internal.h"
#include "postgres/store/schema_text.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSUFFICIENT_PRIVILEGE "42501"

enum { NO_TABLES = -1, GRANTS_SIZE = 512 };

/* What the catalog says of the tables. Names are identifiers, quoted where they must be. */
struct place {
    char schema[STORE_SCHEMA_SIZE]; /* that has them, or is to have them */
    char name[STORE_SCHEMA_SIZE];   /* of the same, as --schema takes it */
    char role[STORE_SCHEMA_SIZE];
    char database[STORE_SCHEMA_SIZE];
    bool exists; /* the schema */
    bool may_make;
    bool older;  /* not in the schema that --schema names */
    int version; /* or NO_TABLES */
};

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
            const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
            bool denied = state && strcmp(state, INSUFFICIENT_PRIVILEGE) == 0;
            pg_set_error(pg, denied ? ERROR_DENIED : ERROR_UNAVAILABLE,
                         denied ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY)
                                : PQresultErrorMessage(result));
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

bool schema_check(struct pg *pg, int64_t until_us, struct schema_state *out, struct error *error)
{
    char grants[GRANTS_SIZE];

    if (pg_exec(pg, SQL_SCHEMA_STATE,
                PG_ARGS(pg_text(pg->schema), pg_texts(sql_tables, SQL_TABLES),
                        pg_texts(sql_rights, SQL_TABLES)),
                until_us) != PG_OK) {
        *error = pg->error;
        return false;
    }
    *out = (struct schema_state){.gone = pg_get_int8(pg, 0, 0), .sizes = pg_get_int8(pg, 0, 1)};
    pg_get_text(pg, 0, 2, grants, sizeof grants);
    return !grants[0] || error_set(error, ERROR_DENIED, "its role lacks rights: %s", grants);
}

/* False: the session has statements that look elsewhere; a new one has none. */
static bool use_schema(struct pg *pg, const char *schema, struct error *error)
{
    bool fits = !pg->schema[0] || strcmp(pg->schema, schema) == 0;

    pg->generation = store_set_schema(pg->store, schema);
    if (!fits)
        return error_set(error, ERROR_UNAVAILABLE, "the tables are in the schema %s now", schema);
    snprintf(pg->schema, sizeof pg->schema, "%s", schema);
    return true;
}

static bool read_version(struct pg *pg, int *version, int64_t until_us, struct error *error)
{
    if (pg_exec(pg, SQL_VERSION_READ, PG_NO_ARGS, until_us) != PG_OK) {
        *error = pg->error;
        return false;
    }
    *version = (int)pg_get_int8(pg, 0, 0);
    return true;
}

static bool find_tables(struct pg *pg, struct place *at, int64_t until_us, struct error *error)
{
    struct schema_state state;

    if (pg_exec(pg, SQL_SCHEMA_FIND, PG_ARGS(pg_text(pg->store->schema.name)), until_us) != PG_OK) {
        *error = pg->error;
        return false;
    }
    *at = (struct place){
        .exists = pg_get_bool(pg, 0, 2), .may_make = pg_get_bool(pg, 0, 3), .version = NO_TABLES};
    bool found = pg_get_bool(pg, 0, 1);
    pg_get_text(pg, 0, 0, at->schema, sizeof at->schema);
    pg_get_text(pg, 0, 4, at->role, sizeof at->role);
    pg_get_text(pg, 0, 5, at->database, sizeof at->database);
    at->older = pg_get_bool(pg, 0, 6);
    pg_get_text(pg, 0, 7, at->name, sizeof at->name);
    if (!found)
        return true;
    return use_schema(pg, at->schema, error) && schema_check(pg, until_us, &state, error) &&
           read_version(pg, &at->version, until_us, error);
}

/* What somebody has to do who may. */
static bool want_owner(const struct place *at, enum error_code code, const char *why,
                       struct error *error)
{
    char what[STORE_SCHEMA_SIZE + 64];

    if (at->version == NO_TABLES)
        snprintf(what, sizeof what, "there are no tables in the schema %s", at->schema);
    else
        snprintf(what, sizeof what, "the schema %s is version %d, not %d", at->schema, at->version,
                 SQL_SCHEMA_VERSION);
    return error_set(error, code,
                     "%s, and %s: as their owner, give psql what \"seckill-server --schema '%s' "
                     "--print-schema\" prints",
                     what, why, at->name);
}

static bool deny(const struct place *at, const char *why, struct error *error)
{
    struct error way;
    char text[2 * STORE_SCHEMA_SIZE + 64];

    if (at->version != NO_TABLES)
        return want_owner(at, ERROR_DENIED, why, error);
    if (at->exists)
        snprintf(text, sizeof text, "GRANT USAGE, CREATE ON SCHEMA %s TO %s;", at->schema,
                 at->role);
    else
        snprintf(text, sizeof text, "CREATE SCHEMA %s AUTHORIZATION %s;", at->schema, at->role);
    want_owner(at, ERROR_DENIED, "its role may not make them", &way);
    return error_set(error, ERROR_DENIED, "%s; or: %s", way.text, text);
}

/* In a transaction that has the lock. */
static bool make(struct pg *pg, const struct place *at, int64_t schema_until_us)
{
    char limit[64];
    char *text = schema_text(at->name);

    if (!text)
        return error_set(&pg->error, ERROR_INTERNAL, "out of memory");
    snprintf(limit, sizeof limit, "SET LOCAL statement_timeout = %d",
             clock_poll_ms(schema_until_us) + 1);
    bool made = script(pg, limit, schema_until_us) && script(pg, text, schema_until_us);
    free(text);
    return made;
}

/* Under the lock: somebody else may have done it meanwhile. */
static bool migrate(struct pg *pg, struct place *at, int64_t until_us, int64_t schema_until_us,
                    struct error *error)
{
    if (pg->store->schema.fixed)
        return want_owner(at, ERROR_UNSUITABLE, "the server shall not change it (--migrate)",
                          error);
    if (at->version == NO_TABLES && !at->may_make)
        return deny(at, "", error);
    if (!script(pg, "BEGIN; SELECT pg_advisory_xact_lock(" SCHEMA_LOCK ")", until_us)) {
        *error = pg->error;
        return false;
    }
    if (!find_tables(pg, at, until_us, error))
        return false;
    if ((at->version < SQL_SCHEMA_VERSION && !make(pg, at, schema_until_us)) ||
        !script(pg, "COMMIT", until_us)) {
        *error = pg->error;
        return error->code == ERROR_DENIED && deny(at, pg->error.text, error);
    }
    if (at->version < SQL_SCHEMA_VERSION)
        log_info("the schema %s brought from version %d to %d", at->schema,
                 at->version < 0 ? 0 : at->version, SQL_SCHEMA_VERSION);
    return use_schema(pg, at->schema, error);
}

/* Once: the tables work where they are. */
static void tell_move(struct pg *pg, const struct place *at)
{
    char text[1700]; /* a line of the log has room for that */
    size_t used = 0;

    if (!at->older || pg->store->told_older)
        return;
    pg->store->told_older = true;
    for (int i = 0; i < SQL_TABLES; i++) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, " ALTER TABLE %s.%s SET SCHEMA %s;",
                             at->schema, sql_tables[i], pg->store->schema.name);
        if (used >= sizeof text) { /* half of it would move half of them */
            log_warn("the tables are in the schema %s, where earlier versions made them, and stay "
                     "there until somebody moves all of them to %s, in one transaction",
                     at->schema, pg->store->schema.name);
            return;
        }
    }
    log_warn("the tables are in the schema %s, where earlier versions made them, and stay there "
             "until somebody moves them to %s: BEGIN; CREATE SCHEMA %s;%s COMMIT;",
             at->schema, pg->store->schema.name, pg->store->schema.name, text);
}

bool schema_ensure(struct pg *pg, int64_t until_us, int64_t schema_until_us, struct error *error)
{
    struct place at;
    bool done =
        find_tables(pg, &at, until_us, error) &&
        (at.version >= SQL_SCHEMA_VERSION || migrate(pg, &at, until_us, schema_until_us, error));

    if (done && at.version > SQL_SCHEMA_VERSION)
        done = error_set(error, ERROR_UNSUITABLE,
                         "version %d of the schema %s is newer than this server, which knows %d: "
                         "start the newer server, or give this one a schema or a database of its "
                         "own (--schema, --database)",
                         at.version, at.schema, SQL_SCHEMA_VERSION);
    if (done) {
        tell_move(pg, &at);
        return true;
    }
    if (error->code != ERROR_DENIED && error->code != ERROR_UNSUITABLE)
        error_prefix(error, "the schema");
    pg_close(pg);
    return false;
}
