/*
 * Connections: a list per phase, in the order of their deadlines.
 *
 * Failure modes:
 * - A connection misses its deadline. Its socket is shut down both ways, which libmicrohttpd takes
 *   for an error in whatever state the connection is, and closes.
 * - The peer has ended. What it sent before is still served; when all of it is read and there is no
 *   whole request, the connection goes the same way.
 * - The epoll set does not take a connection: it has its deadlines alone.
 */
#include "http/edge/connection.h"

#include "base/clock.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { READING_S = 10, WRITING_S = 60, EVENTS = 64, EMPTY_LINE_BYTES = 2 };

#define FRESH_US (1 * CLOCK_US_PER_S)
/* From one look at an ended connection to the next: libmicrohttpd reads a buffer at a time. */
#define ENDED_US (10 * CLOCK_US_PER_MS)
#define LOOKS    (READING_S * CLOCK_US_PER_S / ENDED_US)

static int64_t allowance_us(const struct connections *connections, enum connection_phase phase)
{
    if (phase == CONNECTION_FRESH)
        return clock_earlier(FRESH_US, connections->idle_us);
    if (phase == CONNECTION_IDLE)
        return connections->idle_us - clock_earlier(FRESH_US, connections->idle_us);
    if (phase == CONNECTION_ENDED)
        return ENDED_US;
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
    if (connection->ended && phase < CONNECTION_ENDED) {
        phase = CONNECTION_ENDED;
        connection->looks_left = LOOKS;
    }
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

void connection_begin(struct connections *connections, struct connection *connection,
                      int64_t now_us)
{
    if (connection->phase < CONNECTION_READING)
        connection_enter(connections, connection, CONNECTION_READING, now_us);
}

/* Its end is always reported, once. */
static void watch(const struct connections *connections, int operation,
                  struct connection *connection, bool next_byte)
{
    struct epoll_event event = {.events = EPOLLET | EPOLLRDHUP | (next_byte ? EPOLLIN : 0),
                                .data.ptr = connection};

    connection->watched = next_byte;
    epoll_ctl(connections->watch_fd, operation, connection->fd, &event);
}

static void *open_connection(struct connections *connections, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *connection = info ? calloc(1, sizeof *connection) : NULL;

    if (!connection)
        return NULL;
    connection->mhd = mhd;
    connection->fd = info->connect_fd;
    connection->phase = CONNECTION_WAITING;
    watch(connections, EPOLL_CTL_ADD, connection, false);
    connection_enter(connections, connection, CONNECTION_FRESH, clock_mono_us());
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

void connection_watch(struct connections *connections, int64_t now_us)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(connections->watch_fd, events, EVENTS, 0);

    for (int i = 0; i < count; i++) {
        struct connection *connection = events[i].data.ptr;

        if (connection->watched)
            watch(connections, EPOLL_CTL_MOD, connection, false);
        if (events[i].events & ~(uint32_t)EPOLLIN) {
            connection->ended = true;
            if (connection->phase < CONNECTION_ENDED)
                connection_enter(connections, connection, connection->phase, now_us);
        } else {
            connection_begin(connections, connection, now_us);
        }
    }
}

/* Whether more has come than the requests that are complete. The empty line that may stand before
 * or behind one (RFC 9112, 2.2) is skipped by libmicrohttpd and told of nowhere, so what is no
 * longer counts as theirs. */
static bool has_begun(struct connection *connection)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    unsigned skipped = connection->taken > 0 ? EMPTY_LINE_BYTES : 0;

    if (getsockopt(connection->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return false;
    if (info.tcpi_bytes_received > connection->taken + skipped)
        return true;
    connection->taken = info.tcpi_bytes_received;
    return false;
}

/* Whether there are bytes that libmicrohttpd has not read. */
static bool has_unread(const struct connection *connection)
{
    char byte;

    return recv(connection->fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* False: the connection is to be closed. */
static bool go_on(struct connections *connections, struct connection *connection, int64_t now_us)
{
    if (connection->phase == CONNECTION_FRESH) {
        bool begun = has_begun(connection);

        if (!begun)
            watch(connections, EPOLL_CTL_MOD, connection, true);
        connection_enter(connections, connection, begun ? CONNECTION_READING : CONNECTION_IDLE,
                         now_us);
        return true;
    }
    if (connection->phase == CONNECTION_ENDED && connection->looks_left > 0 &&
        has_unread(connection)) {
        connection->looks_left--;
        connection_enter(connections, connection, CONNECTION_ENDED, now_us);
        return true;
    }
    return false;
}

void connection_expire(struct connections *connections, int64_t now_us)
{
    for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
        struct connection *connection;

        while ((connection = connections->phases[phase].first) && connection->until_us <= now_us) {
            if (go_on(connections, connection, now_us))
                continue;
            leave(connections, connection);
            shutdown(connection->fd, SHUT_RDWR);
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
