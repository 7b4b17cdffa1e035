/* The listening socket: parsing --listen, binding, and saying clearly why it could not be done. */
#include "http/edge/listen.h"

#include "base/log.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Thousands may connect at once when a sale opens. */
enum { BACKLOG = 4096 };

/* What the process has open besides connections: sessions, logs, the daemon's own. */
enum { OTHER_DESCRIPTORS = 256 };

enum { HOST_MAX = 256, PORT_MAX = 8 };

/* The flag's own check has seen to its form; whether there is such a host, getaddrinfo says. */
static bool split(const char *host_port, char host[HOST_MAX], char port[PORT_MAX],
                  struct error *error)
{
    const char *colon = strrchr(host_port, ':');
    const char *from = host_port;
    size_t length = colon ? (size_t)(colon - host_port) : 0;

    if (length >= 2 && from[0] == '[' && from[length - 1] == ']') {
        from++;
        length -= 2;
    }
    if (length == 0 || length >= HOST_MAX || strlen(colon + 1) >= PORT_MAX)
        return error_set(error, ERROR_INVALID, "--listen %s: it takes HOST:PORT or [IPV6]:PORT",
                         host_port);
    snprintf(host, HOST_MAX, "%.*s", (int)length, from);
    snprintf(port, PORT_MAX, "%s", colon + 1);
    return true;
}

static bool describe(int fd, char *address, size_t address_size)
{
    struct sockaddr_storage bound = {0};
    socklen_t length = sizeof bound;
    char host[HOST_MAX];
    char port[PORT_MAX];

    if (getsockname(fd, (struct sockaddr *)&bound, &length) != 0 ||
        getnameinfo((struct sockaddr *)&bound, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    snprintf(address, address_size, bound.ss_family == AF_INET6 ? "http://[%s]:%s" : "http://%s:%s",
             host, port);
    return true;
}

static int open_at(const struct addrinfo *at)
{
    int on = 1;
    int saved;
    int fd = socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol);

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

int listen_open(const char *host_port, char *address, size_t address_size, struct error *error)
{
    const struct addrinfo hints = {
        .ai_flags = AI_PASSIVE, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[HOST_MAX];
    char port[PORT_MAX];
    int fd = -1;
    int wrong;

    if (!split(host_port, host, port, error))
        return -1;
    wrong = getaddrinfo(host, port, &hints, &found);
    if (wrong != 0) {
        error_set(error, ERROR_INVALID, "--listen %s: %s", host_port, gai_strerror(wrong));
        return -1;
    }
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = open_at(at);
    if (fd < 0)
        error_set(error, ERROR_UNAVAILABLE, "--listen %s: %s", host_port,
                  errno == EADDRINUSE ? "another process listens there already" : strerror(errno));
    freeaddrinfo(found);
    if (fd >= 0 && !describe(fd, address, address_size)) {
        error_set(error, ERROR_INTERNAL, "--listen %s: the bound address cannot be read",
                  host_port);
        close(fd);
        return -1;
    }
    return fd;
}

unsigned listen_fit_connections(unsigned wanted)
{
    rlim_t needed = (rlim_t)wanted + OTHER_DESCRIPTORS;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return wanted;
    if (limit.rlim_max < needed) {
        struct rlimit higher = {.rlim_cur = needed, .rlim_max = needed};

        if (setrlimit(RLIMIT_NOFILE, &higher) == 0)
            return wanted;
    }
    limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= needed)
        return wanted;
    wanted = limit.rlim_cur / 2 > OTHER_DESCRIPTORS ? (unsigned)limit.rlim_cur - OTHER_DESCRIPTORS
                                                    : (unsigned)limit.rlim_cur / 2;
    log_warn(
        "%llu file descriptors are allowed (ulimit -n): at most %u connections are served at once",
        (unsigned long long)limit.rlim_cur, wanted);
    return wanted;
}
