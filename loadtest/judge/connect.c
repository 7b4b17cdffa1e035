/* See connect.h. */
#include "loadtest/judge/connect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool connect_failed(const PGconn *connection, const char *what, struct error *error)
{
    error_fail(error, "%s: %s", what, PQerrorMessage(connection));
    error->text[strcspn(error->text, "\n")] = '\0';
    return false;
}

/* Whether libpq takes it for a connection string and not for the name of a database. */
static bool is_conninfo(const char *text)
{
    return strchr(text, '=') || strncmp(text, "postgresql://", 13) == 0 ||
           strncmp(text, "postgres://", 11) == 0;
}

/* NULL when libpq cannot read it; the error then has nothing of what it quotes. */
static PQconninfoOption *parse(const char *conninfo, struct error *error)
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

void connect_set(PGconn *connection, const char *name, const char *value)
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
     * it. */
    const char *const names[] = {"connect_timeout", "application_name", "dbname", NULL};
    const char *const values[] = {"10", application, *conninfo ? conninfo : NULL, NULL};
    if (is_conninfo(conninfo)) {
        PQconninfoOption *options = parse(conninfo, error);
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
    connect_set(connection, "statement_timeout", "5min");
    return connection;
}

static bool add(struct connect_environment *out, size_t *count, const char *name, const char *value)
{
    if (*count == CONNECT_VARIABLES_MAX || asprintf(&out->texts[*count], "%s=%s", name, value) < 0)
        return false;
    ++*count;
    return true;
}

bool connect_list(struct connect_environment *out, const char *conninfo, struct error *error)
{
    size_t count = 0;
    *out = (struct connect_environment){.texts = {NULL}};
    if (!is_conninfo(conninfo))
        return !*conninfo || add(out, &count, "PGDATABASE", conninfo) ||
               error_fail(error, "out of memory");
    PQconninfoOption *options = parse(conninfo, error);
    bool good = options != NULL;
    for (const PQconninfoOption *one = options; good && one->keyword; one++) {
        if (!one->val)
            continue;
        if (one->envvar && !add(out, &count, one->envvar, one->val))
            good = error_fail(error, "out of memory");
        else if (!one->envvar && strcmp(one->keyword, "sslpassword") == 0)
            good = error_fail(error, "pgbench cannot be given sslpassword unseen");
    }
    PQconninfoFree(options);
    if (!good)
        connect_drop(out);
    return good;
}

void connect_drop(struct connect_environment *environment)
{
    for (size_t i = 0; environment->texts[i]; i++)
        free(environment->texts[i]);
    environment->texts[0] = NULL;
}
