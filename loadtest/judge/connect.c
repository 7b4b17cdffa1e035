/* See connect.h. */
#include "loadtest/judge/connect.h"

#include "loadtest/base/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool connect_failed(const PGconn *connection, const char *what, struct error *error)
{
    error_fail(error, "%s: %s", what, PQerrorMessage(connection));
    error->text[strcspn(error->text, "\n")] = '\0';
    return false;
}

bool connect_is_conninfo(const char *text)
{
    return strchr(text, '=') || strncmp(text, "postgresql://", 13) == 0 ||
           strncmp(text, "postgres://", 11) == 0;
}

PQconninfoOption *connect_parse(const char *conninfo, struct error *error)
{
    char *why = NULL;
    PQconninfoOption *options = PQconninfoParse(conninfo, &why);
    if (!options) {
        error_fail(error, "--database: %s", why ? why : "out of memory");
        error->text[strcspn(error->text, "\n")] = '\0';
        error_hide_quoted(error, conninfo);
    }
    PQfreemem(why);
    return options;
}

/* For as long as the connection lasts. Not behind a pooler, which tells another process than the
 * one that serves, and would lend the session to others with it. */
static void set(PGconn *connection, const char *name, const char *value)
{
    char process[16];
    const char *values[] = {name, value, process};

    snprintf(process, sizeof process, "%d", PQbackendPID(connection));
    PQclear(PQexecParams(connection,
                         "SELECT set_config($1, $2, false) WHERE pg_backend_pid() = $3::int", 3,
                         NULL, values, NULL, NULL, 0));
}

PGconn *connect_open(const char *conninfo, const char *application, struct error *error)
{
    /* expand_dbname: a conninfo or a URI may stand in dbname; what it says wins over what precedes
     * it. What follows it is not to be said otherwise: a standby, or a primary that was replaced,
     * has not all that was sold. */
    const char *const names[] = {"connect_timeout", "application_name", "dbname",
                                 "target_session_attrs", NULL};
    const char *const values[] = {"10", application, *conninfo ? conninfo : NULL, "primary", NULL};
    if (connect_is_conninfo(conninfo)) {
        PQconninfoOption *options = connect_parse(conninfo, error);
        if (!options)
            return NULL;
        PQconninfoFree(options);
    }
    PGconn *connection = PQconnectdbParams(names, values, 1);
    if (PQstatus(connection) != CONNECTION_OK) {
        connect_failed(connection, "PostgreSQL (--database)", error);
        PQfinish(connection);
        return NULL;
    }
    /* Not through `options`, which the conninfo or PGOPTIONS may have a use for. */
    set(connection, "statement_timeout", "5min");
    return connection;
}

static bool find(struct tables *tables, const char *name, struct error *error)
{
    static const char sql[] =
        "SELECT quote_ident(coalesce(("
        "    SELECT nspname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace"
        "    WHERE relname = 'seckill_schema'"
        "      AND (nspname = $1 OR $1 = 'seckill' AND nspname = ANY (current_schemas(false)))"
        "    ORDER BY nspname <> $1, array_position(current_schemas(false), nspname) LIMIT 1), "
        "$1)),"
        "  quote_ident(current_user)";
    PGresult *row = PQexecParams(tables->connection, sql, 1, NULL, &name, NULL, NULL, 0);
    bool found = PQresultStatus(row) == PGRES_TUPLES_OK;
    if (found) {
        snprintf(tables->schema, sizeof tables->schema, "%s", PQgetvalue(row, 0, 0));
        snprintf(tables->role, sizeof tables->role, "%s", PQgetvalue(row, 0, 1));
    }
    PQclear(row);
    return found || connect_failed(tables->connection, "the schema (--schema)", error);
}

bool tables_open(struct tables *out, const char *conninfo, const char *application,
                 const char *schema, struct error *error)
{
    out->connection = connect_open(conninfo, application, error);
    if (out->connection)
        set(out->connection, "default_transaction_read_only", "on");
    return out->connection && find(out, schema, error);
}

/* What somebody has to do about it. */
static void advise(const struct tables *tables, const char *sqlstate, struct error *error)
{
    const char *schema = tables->schema;
    if (strcmp(sqlstate, "42501") == 0)
        error_prefix(error,
                     "it needs GRANT USAGE ON SCHEMA %s TO %s; "
                     "GRANT SELECT ON %s.product, %s.bucket, %s.orders, %s.restock TO %s;",
                     schema, tables->role, schema, schema, schema, schema, tables->role);
    else if (strcmp(sqlstate, "42P01") == 0 || strcmp(sqlstate, "3F000") == 0)
        error_prefix(error, "no server has made its tables in the schema %s (--schema)", schema);
}

PGresult *tables_ask(const struct tables *tables, const char *sql, int count,
                     const char *const *values, struct error *error)
{
    char *text = connect_qualify(sql, tables->schema);
    PGresult *result = PQexecParams(tables->connection, text, count, NULL, values, NULL, NULL, 0);
    free(text);
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        return result;
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    connect_failed(tables->connection, "its SQL", error);
    advise(tables, sqlstate ? sqlstate : "", error);
    PQclear(result);
    return NULL;
}

PGresult *tables_ask_numbers(const struct tables *tables, const char *sql, int count,
                             const int64_t *numbers, struct error *error)
{
    char texts[TABLES_NUMBERS_MAX][24];
    const char *values[TABLES_NUMBERS_MAX];
    for (int i = 0; i < count; i++) {
        snprintf(texts[i], sizeof texts[i], "%lld", (long long)numbers[i]);
        values[i] = texts[i];
    }
    return tables_ask(tables, sql, count, values, error);
}

int64_t tables_number(const PGresult *result, int row, int column)
{
    return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

char *connect_qualify(const char *sql, const char *schema)
{
    static const char marker[] = "{schema}";
    char *text = NULL;
    size_t size = 0;
    FILE *to = memory_need(open_memstream(&text, &size));
    for (const char *at; (at = strstr(sql, marker)); sql = at + strlen(marker))
        fprintf(to, "%.*s%s", (int)(at - sql), sql, schema);
    fputs(sql, to);
    fclose(to);
    return text;
}
