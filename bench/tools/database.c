/* See database.h. */
#include "bench/tools/database.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct database {
    PGconn *connection; /* owned */
};

static bool failed(const struct database *database, struct error *error)
{
    error_fail(error, "PostgreSQL: %s", PQerrorMessage(database->connection));
    error->text[strcspn(error->text, "\n")] = '\0';
    return false;
}

struct database *database_create(const char *conninfo, struct error *error)
{
    const char *const names[] = {"connect_timeout", "application_name", "dbname", NULL};
    const char *const values[] = {"10", "seckill-bench", *conninfo ? conninfo : NULL, NULL};
    struct database *database = calloc(1, sizeof *database);
    if (!database) {
        error_fail(error, "out of memory");
        return NULL;
    }
    database->connection = PQconnectdbParams(names, values, 1);
    if (PQstatus(database->connection) == CONNECTION_OK) {
        PQclear(PQexec(database->connection, "SET statement_timeout = '5min'"));
        return database;
    }
    failed(database, error);
    database_destroy(database);
    return NULL;
}

void database_destroy(struct database *database)
{
    if (database)
        PQfinish(database->connection);
    free(database);
}

bool database_ask(struct database *database, const char *sql, char *out, size_t size,
                  struct error *error)
{
    PGresult *result = PQexec(database->connection, sql);
    ExecStatusType status = PQresultStatus(result);
    bool good = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
    if (size > 0)
        snprintf(out, size, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return good || failed(database, error);
}
