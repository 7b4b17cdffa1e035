/* See client.h. */
#include "loadtest/engine/client.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum { OPEN_LIMIT_MS = 10000, OTHER_DESCRIPTORS = 100 };

bool client_split_url(const char *url, struct client_url *out, struct error *error)
{
    const char *at = strncmp(url, "http://", 7) == 0 ? url + 7 : NULL;
    if (!at)
        return error_fail(error, "'%s' is no http:// URL", url);
    size_t length = strcspn(at, "/");
    if (length == 0 || length >= sizeof out->authority || strcmp(at + length, "/") > 0)
        return error_fail(error, "'%s' is not http://HOST:PORT", url);
    snprintf(out->authority, sizeof out->authority, "%.*s", (int)length, at);

    char *host = out->authority;
    char *end = host + strcspn(host, ":");
    if (*host == '[') {
        host++;
        end = host + strcspn(host, "]");
    }
    snprintf(out->host, sizeof out->host, "%.*s", (int)(end - host), host);
    const char *colon = strchr(*end == ']' ? end + 1 : end, ':');
    const char *port = colon ? colon + 1 : "80";
    if (strlen(port) >= sizeof out->port || strspn(port, "0123456789") != strlen(port) || !*port ||
        !*out->host)
        return error_fail(error, "'%s' is not http://HOST:PORT", url);
    snprintf(out->port, sizeof out->port, "%s", port);
    return true;
}

bool client_resolve(struct client_target *target, const char *url, struct error *error)
{
    struct client_url parts;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (!client_split_url(url, &parts, error))
        return false;
    int refused = getaddrinfo(parts.host, parts.port, &hints, &found);
    if (refused)
        return error_fail(error, "%s: %s", url, gai_strerror(refused));
    *target = (struct client_target){.address_length = found->ai_addrlen};
    memcpy(&target->address, found->ai_addr, found->ai_addrlen);
    memcpy(target->authority, parts.authority, sizeof target->authority);
    freeaddrinfo(found);
    return true;
}

bool client_allow(int64_t count, struct error *error)
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

void client_init(struct client *client, const struct client_target *target)
{
    client->target = target;
    client->fd = client->epoll_fd = -1;
    client->state = CLIENT_CLOSED;
    client->used = 0;
}

void client_close(struct client *client)
{
    if (client->fd >= 0) {
        /* A child that another thread is about to start holds it open until it has become another
         * program, and epoll would go on telling of it. */
        epoll_ctl(client->epoll_fd, EPOLL_CTL_DEL, client->fd, NULL);
        close(client->fd);
    }
    client->fd = -1;
    client->state = CLIENT_CLOSED;
}

static bool watch(struct client *client, int epoll_fd, int operation, uint32_t events)
{
    client->epoll_fd = epoll_fd;
    struct epoll_event event = {.events = events, .data = {.ptr = client}};
    return epoll_ctl(epoll_fd, operation, client->fd, &event) == 0;
}

/* Begins to open it; epoll says when it stands, or that it does not. */
static bool begin(struct client *client, int epoll_fd)
{
    const struct client_target *target = client->target;
    const int on = 1;
    client->fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (client->fd < 0)
        return false;
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    client->state = CLIENT_OPENING;
    return (connect(client->fd, (const struct sockaddr *)&target->address,
                    target->address_length) == 0 ||
            errno == EINPROGRESS) &&
           watch(client, epoll_fd, EPOLL_CTL_ADD, EPOLLOUT);
}

/* Epoll has said that opening is over. Did it succeed? */
static bool stands(struct client *client, int epoll_fd)
{
    int broken = 0;
    socklen_t size = sizeof broken;
    return getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &broken, &size) == 0 && broken == 0 &&
           watch(client, epoll_fd, EPOLL_CTL_MOD, EPOLLIN);
}

bool client_open(struct client *client, int epoll_fd, struct error *error)
{
    if (begin(client, epoll_fd)) {
        struct pollfd ready = {.fd = client->fd, .events = POLLOUT};
        if (poll(&ready, 1, OPEN_LIMIT_MS) == 1 && stands(client, epoll_fd)) {
            client->state = CLIENT_IDLE;
            return true;
        }
    }
    client_close(client);
    return error_fail(error, "cannot connect to %s", client->target->authority);
}

/* A request is far smaller than a socket's buffer: what is not taken whole has failed. */
static bool write_whole(struct client *client, const char *request, size_t length)
{
    client->state = CLIENT_BUSY;
    client->used = 0;
    return send(client->fd, request, length, MSG_NOSIGNAL) == (ssize_t)length;
}

bool client_send(struct client *client, int epoll_fd, const char *request, size_t length)
{
    bool good = false;
    if (client->state == CLIENT_IDLE) {
        good = write_whole(client, request, length);
    } else {
        memmove(client->buffer, request, length);
        client->used = length;
        good = begin(client, epoll_fd);
    }
    if (!good)
        client_close(client);
    return good;
}

static enum client_event fail(struct client *client)
{
    client_close(client);
    return CLIENT_FAILS;
}

static enum client_event turn_opening(struct client *client, int epoll_fd)
{
    if (!stands(client, epoll_fd) || !write_whole(client, client->buffer, client->used))
        return fail(client);
    return CLIENT_WAITS;
}

enum client_event client_turn(struct client *client, int epoll_fd, struct answer *answer)
{
    if (client->state == CLIENT_OPENING)
        return turn_opening(client, epoll_fd);
    ssize_t got =
        recv(client->fd, client->buffer + client->used, sizeof client->buffer - client->used, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return CLIENT_WAITS;
    if (client->state == CLIENT_IDLE) { /* nobody asked: it has ended, or talks nonsense */
        client_close(client);
        return CLIENT_ENDS;
    }
    if (got <= 0)
        return fail(client);
    client->used += (size_t)got;
    switch (answer_read(client->buffer, client->used, answer)) {
    case ANSWER_PARTIAL:
        if (client->used < sizeof client->buffer)
            return CLIENT_WAITS;
        break;
    case ANSWER_WHOLE:
        client->state = CLIENT_IDLE;
        client->used = 0;
        if (answer->closes)
            client_close(client);
        return CLIENT_ANSWERS;
    case ANSWER_UNEXPECTED:
        break;
    }
    return fail(client);
}
