/* See connection.h. */
#include "loadtest/load/connection.h"

#include "loadtest/load/wrk.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum { OPEN_LIMIT_MS = 10000, OTHER_DESCRIPTORS = 100 };

bool connection_resolve(struct connection_target *target, const char *url, struct error *error)
{
    struct wrk_url parts;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (!wrk_split_url(url, &parts, error))
        return false;
    int refused = getaddrinfo(parts.host, parts.port, &hints, &found);
    if (refused)
        return error_fail(error, "%s: %s", url, gai_strerror(refused));
    *target = (struct connection_target){.address_length = found->ai_addrlen};
    memcpy(&target->address, found->ai_addr, found->ai_addrlen);
    memcpy(target->authority, parts.authority, sizeof target->authority);
    freeaddrinfo(found);
    return true;
}

bool connection_allow(int64_t count, struct error *error)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)count + OTHER_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return true;
    struct rlimit higher = {.rlim_cur = needed,
                            .rlim_max = limit.rlim_max < needed ? needed : limit.rlim_max};
    return setrlimit(RLIMIT_NOFILE, &higher) == 0 ||
           error_fail(error, "%lld connections need more descriptors than ulimit -Hn allows",
                      (long long)count);
}

void connection_init(struct connection *connection, const struct connection_target *target)
{
    connection->target = target;
    connection->fd = -1;
    connection->state = CONNECTION_CLOSED;
    connection->used = 0;
}

void connection_close(struct connection *connection)
{
    if (connection->fd >= 0)
        close(connection->fd);
    connection->fd = -1;
    connection->state = CONNECTION_CLOSED;
}

static bool watch(struct connection *connection, int epoll_fd, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.ptr = connection}};
    return epoll_ctl(epoll_fd, operation, connection->fd, &event) == 0;
}

/* Begins to open it; epoll says when it stands, or that it does not. */
static bool begin(struct connection *connection, int epoll_fd)
{
    const struct connection_target *target = connection->target;
    const int on = 1;
    connection->fd =
        socket(target->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connection->fd < 0)
        return false;
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->state = CONNECTION_OPENING;
    return (connect(connection->fd, (const struct sockaddr *)&target->address,
                    target->address_length) == 0 ||
            errno == EINPROGRESS) &&
           watch(connection, epoll_fd, EPOLL_CTL_ADD, EPOLLOUT);
}

/* Epoll has said that opening is over. Did it succeed? */
static bool stands(struct connection *connection, int epoll_fd)
{
    int broken = 0;
    socklen_t size = sizeof broken;
    return getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &broken, &size) == 0 && broken == 0 &&
           watch(connection, epoll_fd, EPOLL_CTL_MOD, EPOLLIN);
}

bool connection_open(struct connection *connection, int epoll_fd, struct error *error)
{
    if (begin(connection, epoll_fd)) {
        struct pollfd ready = {.fd = connection->fd, .events = POLLOUT};
        if (poll(&ready, 1, OPEN_LIMIT_MS) == 1 && stands(connection, epoll_fd)) {
            connection->state = CONNECTION_IDLE;
            return true;
        }
    }
    connection_close(connection);
    return error_fail(error, "cannot connect to %s", connection->target->authority);
}

/* A request is far smaller than a socket's buffer: what is not taken whole has failed. */
static bool write_whole(struct connection *connection, const char *request, size_t length)
{
    connection->state = CONNECTION_BUSY;
    connection->used = 0;
    return send(connection->fd, request, length, MSG_NOSIGNAL) == (ssize_t)length;
}

bool connection_send(struct connection *connection, int epoll_fd, const char *request,
                     size_t length)
{
    bool good = false;
    if (connection->state == CONNECTION_IDLE) {
        good = write_whole(connection, request, length);
    } else {
        memcpy(connection->buffer, request, length);
        connection->used = length;
        good = begin(connection, epoll_fd);
    }
    if (!good)
        connection_close(connection);
    return good;
}

static enum connection_event fail(struct connection *connection)
{
    connection_close(connection);
    return CONNECTION_FAILS;
}

static enum connection_event turn_opening(struct connection *connection, int epoll_fd)
{
    if (!stands(connection, epoll_fd) ||
        !write_whole(connection, connection->buffer, connection->used))
        return fail(connection);
    return CONNECTION_WAITS;
}

enum connection_event connection_turn(struct connection *connection, int epoll_fd,
                                      struct answer *answer)
{
    if (connection->state == CONNECTION_OPENING)
        return turn_opening(connection, epoll_fd);
    ssize_t got = recv(connection->fd, connection->buffer + connection->used,
                       sizeof connection->buffer - connection->used, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return CONNECTION_WAITS;
    if (connection->state == CONNECTION_IDLE) { /* nobody asked: it has ended, or talks nonsense */
        connection_close(connection);
        return CONNECTION_ENDS;
    }
    if (got <= 0)
        return fail(connection);
    connection->used += (size_t)got;
    switch (answer_read(connection->buffer, connection->used, answer)) {
    case ANSWER_PARTIAL:
        if (connection->used < sizeof connection->buffer)
            return CONNECTION_WAITS;
        break;
    case ANSWER_WHOLE:
        connection->state = CONNECTION_IDLE;
        connection->used = 0;
        if (answer->closes)
            connection_close(connection);
        return CONNECTION_ANSWERS;
    case ANSWER_UNEXPECTED:
        break;
    }
    return fail(connection);
}
