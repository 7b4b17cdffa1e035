/* See crowding.h. */
#include "loadtest/backends/crowding.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTIONS_MAX = 1000 };

struct crowding {
    char conninfo[1024];
    PGconn *connections[CONNECTIONS_MAX]; /* owned */
    size_t count;
};

enum answer { TAKEN, NO_ROOM, OTHER };

/* libpq keeps no SQLSTATE of a connection that was refused. The texts are PostgreSQL's, in English
 * where the server's lc_messages is. */
static bool tells_of_no_room(const char *text)
{
    static const char *const texts[] = {"too many clients already", "remaining connection slots"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strstr(text, texts[i]))
            return true;
    }
    return false;
}

static enum answer take_one(struct crowding *crowding, struct error *error)
{
    PGconn *connection = PQconnectdb(crowding->conninfo);

    if (PQstatus(connection) == CONNECTION_OK) {
        crowding->connections[crowding->count++] = connection;
        return TAKEN;
    }
    bool no_room = tells_of_no_room(PQerrorMessage(connection));
    if (!no_room)
        error_fail(error, "connections cannot be exhausted: %s", PQerrorMessage(connection));
    PQfinish(connection);
    return no_room ? NO_ROOM : OTHER;
}

struct crowding *crowding_begin(const char *conninfo, struct error *error)
{
    struct crowding *crowding = calloc(1, sizeof *crowding);
    enum answer answer = TAKEN;

    if (!crowding) {
        error_fail(error, "out of memory");
        return NULL;
    }
    snprintf(crowding->conninfo, sizeof crowding->conninfo, "%s connect_timeout=10", conninfo);
    while (answer == TAKEN && crowding->count < CONNECTIONS_MAX)
        answer = take_one(crowding, error);
    if (answer == NO_ROOM && crowding->count > 0)
        return crowding;
    if (answer != OTHER)
        error_fail(error, "connections cannot be exhausted: %zu were given", crowding->count);
    crowding_end(crowding);
    return NULL;
}

bool crowding_holds(struct crowding *crowding)
{
    struct error ignored;

    return crowding->count < CONNECTIONS_MAX && take_one(crowding, &ignored) == NO_ROOM;
}

size_t crowding_count(const struct crowding *crowding)
{
    return crowding->count;
}

void crowding_end(struct crowding *crowding)
{
    if (!crowding)
        return;
    for (size_t i = 0; i < crowding->count; i++)
        PQfinish(crowding->connections[i]);
    free(crowding);
}
