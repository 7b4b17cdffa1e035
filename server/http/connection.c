/*
 * Connections: a list per phase, in the order of their deadlines.
 *
 * Failure mode: a connection misses its deadline. Its socket is shut down both ways, which
 * libmicrohttpd takes for an error in whatever state the connection is, and closes.
 */
#include "http/connection.h"

#include "base/clock.h"
#include "http/edge.h"

#include <stdlib.h>
#include <sys/socket.h>

enum { READING_S = 10, WRITING_S = 60 };

static int64_t allowance_us(const struct http *http, enum connection_phase phase)
{
    int64_t s = phase == CONNECTION_IDLE      ? http->services->settings->idle_timeout_s
                : phase == CONNECTION_READING ? READING_S
                                              : WRITING_S;

    return s * CLOCK_US_PER_S;
}

struct connection *connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static void leave(struct http *http, struct connection *connection)
{
    struct connection_list *list;

    if (connection->phase == CONNECTION_WAITING)
        return;
    list = &http->phases[connection->phase];
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        list->first = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    else
        list->last = connection->previous;
    connection->phase = CONNECTION_WAITING;
}

void connection_enter(struct http *http, struct connection *connection, enum connection_phase phase)
{
    struct connection_list *list;

    leave(http, connection);
    if (phase == CONNECTION_WAITING)
        return;
    list = &http->phases[phase];
    connection->phase = phase;
    connection->until_us = http->now_us + allowance_us(http, phase);
    connection->next = NULL;
    connection->previous = list->last;
    if (list->last)
        list->last->next = connection;
    else
        list->first = connection;
    list->last = connection;
}

static void *open_connection(struct http *http, struct MHD_Connection *mhd)
{
    struct connection *connection = calloc(1, sizeof *connection);

    if (!connection)
        return NULL;
    connection->mhd = mhd;
    connection->phase = CONNECTION_WAITING;
    connection_enter(http, connection, CONNECTION_IDLE);
    return connection;
}

void connection_on_change(void *cls, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *http = cls;
    struct connection *connection = *context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        http->connections++;
        *context = open_connection(http, mhd);
        return;
    }
    http->connections--;
    *context = NULL;
    if (!connection)
        return;
    if (connection->request)
        http->on_close(connection);
    leave(http, connection);
    free(connection);
}

void connection_expire(struct http *http)
{
    for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
        struct connection *connection;

        while ((connection = http->phases[phase].first) && connection->until_us <= http->now_us) {
            const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_CONNECTION_FD);

            leave(http, connection);
            if (info)
                shutdown(info->connect_fd, SHUT_RDWR);
        }
    }
}

int64_t connection_next_us(const struct http *http)
{
    int64_t next_us = INT64_MAX;

    for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
        const struct connection *first = http->phases[phase].first;

        if (first && first->until_us < next_us)
            next_us = first->until_us;
    }
    return next_us;
}
