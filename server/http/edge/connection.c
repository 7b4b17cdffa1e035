/*
 * Connections: a list per phase, in the order of their deadlines.
 *
 * Failure mode: a connection misses its deadline. Its socket is shut down both ways, which
 * libmicrohttpd takes for an error in whatever state the connection is, and closes.
 */
#include "http/edge/connection.h"

#include "base/clock.h"

#include <stdlib.h>
#include <sys/socket.h>

enum { READING_S = 10, WRITING_S = 60 };

static int64_t allowance_us(const struct connections *connections, enum connection_phase phase)
{
    if (phase == CONNECTION_IDLE)
        return connections->idle_us;
    return (phase == CONNECTION_READING ? READING_S : WRITING_S) * CLOCK_US_PER_S;
}

struct connection *connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static void leave(struct connections *connections, struct connection *connection)
{
    struct connection_list *list;

    if (connection->phase == CONNECTION_WAITING)
        return;
    list = &connections->phases[connection->phase];
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

void connection_enter(struct connections *connections, struct connection *connection,
                      enum connection_phase phase, int64_t now_us)
{
    struct connection_list *list;

    leave(connections, connection);
    if (phase == CONNECTION_WAITING)
        return;
    list = &connections->phases[phase];
    connection->phase = phase;
    connection->until_us = now_us + allowance_us(connections, phase);
    connection->next = NULL;
    connection->previous = list->last;
    if (list->last)
        list->last->next = connection;
    else
        list->first = connection;
    list->last = connection;
}

static void *open_connection(struct connections *connections, struct MHD_Connection *mhd)
{
    struct connection *connection = calloc(1, sizeof *connection);

    if (!connection)
        return NULL;
    connection->mhd = mhd;
    connection->phase = CONNECTION_WAITING;
    connection_enter(connections, connection, CONNECTION_IDLE, clock_mono_us());
    return connection;
}

void connection_on_change(void *cls, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct connections *connections = cls;
    struct connection *connection = *context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        connections->count++;
        *context = open_connection(connections, mhd);
        return;
    }
    connections->count--;
    *context = NULL;
    if (!connection)
        return;
    if (connection->request)
        connections->on_close(connection);
    leave(connections, connection);
    free(connection);
}

void connection_expire(struct connections *connections, int64_t now_us)
{
    for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
        struct connection *connection;

        while ((connection = connections->phases[phase].first) && connection->until_us <= now_us) {
            const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_CONNECTION_FD);

            leave(connections, connection);
            if (info)
                shutdown(info->connect_fd, SHUT_RDWR);
        }
    }
}

int64_t connection_next_us(const struct connections *connections)
{
    int64_t next_us = INT64_MAX;

    for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
        const struct connection *first = connections->phases[phase].first;

        if (first && first->until_us < next_us)
            next_us = first->until_us;
    }
    return next_us;
}
