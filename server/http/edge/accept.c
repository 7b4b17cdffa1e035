/*
 * Accepting connections, within two limits: --max-connections, and the process's file descriptors.
 *
 * Happy path: the loop polls the listening socket, accepts, and gives libmicrohttpd the sockets. It
 * does not let libmicrohttpd accept: that takes the listening socket out of its epoll set at a
 * limit and puts it back in some later MHD_run. When the last connection has ended before that,
 * nothing wakes the loop, and the server is deaf; with no descriptor left and no connection open,
 * it tries again without a pause.
 *
 * Failure modes:
 * - A limit is reached: new connections wait in the listening socket's queue, first in, first out.
 *   The loop polls the socket again as soon as a connection has ended.
 * - accept(2) fails (no descriptor, no memory): the loop tries again 0.1 s later, because other
 *   threads may have closed descriptors.
 * Connections that had to wait are counted when they are accepted.
 */
#include "http/edge/edge.h"

#include "base/clock.h"
#include "base/log.h"
#include "metrics/metrics.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Most that one turn accepts, so that open connections get their turn, too. */
enum { ACCEPT_MOST = 64 };

/* From a failure to the next attempt. */
#define PAUSE_US (100 * CLOCK_US_PER_MS)

/* Connections that are established and not accepted. */
static int64_t queue_length(const struct http *http)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;

    if (http->listen_fd < 0 ||
        getsockopt(http->listen_fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return 0;
    return info.tcpi_unacked; /* of a listening socket: the length of its queue */
}

int64_t edge_accept_waiting(const struct http *http)
{
    return http->held_back ? queue_length(http) : 0;
}

static int64_t read_most(void *context)
{
    const struct http *http = context;

    return http->connections_most;
}

void edge_accept_init(struct http *http, int listen_fd, unsigned most)
{
    http->listen_fd = listen_fd;
    http->connections_most = most;
    http->waited = metrics_counter(
        http->services->metrics, METRICS_ALWAYS, "seckill_http_connections_waited_total",
        "Connections that waited to be accepted because there was no room for them.", "");
    http->accept_failures = metrics_counter(
        http->services->metrics, METRICS_ALWAYS, "seckill_http_accept_failures_total",
        "Attempts to accept a connection that failed: no file descriptor or memory.", "");
    metrics_gauge(http->services->metrics, METRICS_ALWAYS, "seckill_http_connections_limit",
                  "Most connections at once: --max-connections, or fewer descriptors.", "",
                  read_most, http);
}

static bool has_room(const struct http *http)
{
    return http->connections.count < http->connections_most;
}

int edge_accept_fd(struct http *http, int64_t *next_us)
{
    if (http->listen_fd < 0)
        return -1;
    if (!has_room(http)) {
        http->held_back = true;
        return -1;
    }
    if (http->accept_failed && clock_mono_us() < http->accept_again_us) {
        if (http->accept_again_us < *next_us)
            *next_us = http->accept_again_us;
        return -1;
    }
    /* Read before the loop waits: a connection that comes later has not waited. */
    if (http->held_back)
        http->waiting_left = queue_length(http);
    http->held_back = false;
    return http->listen_fd;
}

static void fail(struct http *http, const char *what)
{
    if (!http->accept_failed)
        log_warn("no connection can be accepted: %s; those that come wait (ulimit -n)", what);
    metrics_add(http->accept_failures, 1);
    http->accept_failed = true;
    http->held_back = true;
    http->accept_again_us = clock_mono_us() + PAUSE_US;
}

/* False: nobody is left, or nobody can be accepted now. */
static bool accept_one(struct http *http)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    int fd =
        accept4(http->listen_fd, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return false;
    if (fd < 0 && (errno == ECONNABORTED || errno == EINTR || errno == EPROTO || errno == EPERM))
        return true; /* the client's own end */
    if (fd < 0 ||
        MHD_add_connection(http->daemon, fd, (struct sockaddr *)&address, size) != MHD_YES) {
        fail(http, strerror(errno));
        return false;
    }
    http->accept_failed = false;
    if (http->waiting_left > 0) {
        http->waiting_left--;
        metrics_add(http->waited, 1);
    }
    return true;
}

/* libmicrohttpd may count a connection no sooner than in its next MHD_run, so what is given to it
 * is counted here. */
void edge_accept(struct http *http)
{
    int64_t room = http->connections_most - http->connections.count;

    if (http->listen_fd < 0)
        return;
    if (room > ACCEPT_MOST)
        room = ACCEPT_MOST;
    while (room > 0 && accept_one(http))
        room--;
}

void edge_accept_close(struct http *http)
{
    if (http->listen_fd >= 0)
        close(http->listen_fd);
    http->listen_fd = -1;
}
