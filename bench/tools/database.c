/* See database.h. */
#include "bench/tools/database.h"

#include "loadtest/judge/connect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct database {
    PGconn *connection; /* owned */
    const char *schema;
};

struct database *database_create(const char *conninfo, const char *schema, struct error *error)
{
    struct database *database = calloc(1, sizeof *database);
    if (!database) {
        error_fail(error, "out of memory");
        return NULL;
    }
    database->schema = schema;
    database->connection = connect_open(conninfo, "seckill-bench", error);
    if (database->connection)
        return database;
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
    char *text = connect_qualify(sql, database->schema);
    if (!text)
        return error_fail(error, "out of memory");
    PGresult *result = PQexec(database->connection, text);
    free(text);
    ExecStatusType status = PQresultStatus(result);
    bool good = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
    if (size > 0)
        snprintf(out, size, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return good || connect_failed(database->connection, "PostgreSQL", error);
}
