/* See peer.h: one thread, which looks every few milliseconds whether it is to end. */
#include "lib/net/peer.h"

#include "lib/t.h"

#include "base/clock.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { DRIP_MS = 20 };

struct peer {
    pthread_t thread;
    enum peer_way way;
    const char *words;
    int length;
    int listeners[2];
    int port;
    char path[48];
    atomic_bool stopping;
};

/* True when there is something to read, or the other side has gone. */
static bool wait_readable(int fd, int wait_ms)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};

    return poll(&one, 1, wait_ms) > 0;
}

/* The other side's end is seen when a byte cannot be sent. */
static void drip(struct peer *peer, int fd)
{
    int64_t until_us = clock_mono_us() + PEER_DRIP_US;

    for (int i = 0; clock_mono_us() < until_us && !atomic_load(&peer->stopping); i++) {
        const char *at = i < peer->length ? &peer->words[i] : "x";
        if (send(fd, at, 1, MSG_NOSIGNAL) != 1)
            return;
        clock_sleep_until(clock_mono_us() + DRIP_MS * CLOCK_US_PER_MS);
    }
}

static void leave(struct peer *peer, int fd)
{
    char bytes[512];

    while (!wait_readable(fd, DRIP_MS))
        if (atomic_load(&peer->stopping))
            return;
    ssize_t got = recv(fd, bytes, sizeof bytes, 0);
    shutdown(fd, SHUT_RD);
    got = got > 0 ? send(fd, peer->words, (size_t)peer->length, MSG_NOSIGNAL) : got;
    /* It is readable from here on: the other side decides when this is over. */
    for (int i = 0; got > 0 && i < 50 && !atomic_load(&peer->stopping); i++)
        clock_sleep_until(clock_mono_us() + DRIP_MS * CLOCK_US_PER_MS);
}

static void *serve(void *argument)
{
    struct peer *peer = argument;
    struct pollfd fds[2] = {{.fd = peer->listeners[0], .events = POLLIN},
                            {.fd = peer->listeners[1], .events = POLLIN}};

    while (!atomic_load(&peer->stopping)) {
        if (poll(fds, 2, DRIP_MS) <= 0)
            continue;
        int fd = accept(fds[fds[0].revents ? 0 : 1].fd, NULL, NULL);
        if (fd < 0)
            continue;
        if (peer->way == PEER_DRIPS)
            drip(peer, fd);
        else
            leave(peer, fd);
        close(fd);
    }
    return NULL;
}

static void open_port(struct peer *peer)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;

    peer->listeners[0] = t_socket(AF_INET);
    assert_int_equal(bind(peer->listeners[0], (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(peer->listeners[0], (struct sockaddr *)&at, &size), 0);
    assert_int_equal(listen(peer->listeners[0], 64), 0);
    peer->port = ntohs(at.sin_port);
}

static void open_path(struct peer *peer)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    snprintf(peer->path, sizeof peer->path, "%s/socket", t_folder());
    strcpy(at.sun_path, peer->path);
    peer->listeners[1] = t_socket(AF_UNIX);
    assert_int_equal(bind(peer->listeners[1], (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(peer->listeners[1], 64), 0);
}

struct peer *peer_start(enum peer_way way, const char *words, int length)
{
    struct peer *peer = calloc(1, sizeof *peer);

    assert_non_null(peer);
    peer->way = way;
    peer->words = words;
    peer->length = length;
    open_port(peer);
    open_path(peer);
    assert_int_equal(pthread_create(&peer->thread, NULL, serve, peer), 0);
    return peer;
}

void peer_stop(struct peer *peer)
{
    atomic_store(&peer->stopping, true);
    pthread_join(peer->thread, NULL);
    close(peer->listeners[0]);
    close(peer->listeners[1]);
    unlink(peer->path);
    free(peer);
}

int peer_port(const struct peer *peer)
{
    return peer->port;
}

const char *peer_path(const struct peer *peer)
{
    return peer->path;
}
