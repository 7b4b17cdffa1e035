/* See address.h. */
#include "loadtest/relay/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024, SOCKET_FLAGS = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK };

static bool read_path(struct address *address, const char *text, struct error *error)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (strlen(text) >= sizeof at.sun_path)
        return error_set(error, ERROR_INVALID, "%s: a socket's path has %zu bytes at most", text,
                         sizeof at.sun_path - 1);
    memcpy(at.sun_path, text, strlen(text) + 1);
    memcpy(&address->at, &at, sizeof at);
    address->length = sizeof at;
    snprintf(address->text, sizeof address->text, "%s", text);
    return true;
}

bool address_read(struct address *address, const char *text, struct error *error)
{
    static const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                          .ai_socktype = SOCK_STREAM};
    const char *colon = strrchr(text, ':');
    struct addrinfo *found = NULL;
    char host[64];

    *address = (struct address){.length = 0};
    if (text[0] == '/')
        return read_path(address, text, error);
    snprintf(host, sizeof host, "%.*s", colon ? (int)(colon - text) : 0, text);
    if (!colon || getaddrinfo(host, colon + 1, &hints, &found) != 0)
        return error_set(error, ERROR_INVALID,
                         "%s is no address of a relay: HOST:PORT in digits, or /PATH", text);
    memcpy(&address->at, found->ai_addr, found->ai_addrlen);
    address->length = found->ai_addrlen;
    snprintf(address->text, sizeof address->text, "%s", text);
    freeaddrinfo(found);
    return true;
}

/* A relay asks nobody who he is: it is for this machine's own programs. */
static bool is_near(const struct address *address)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;

    memcpy(&in, &address->at, sizeof in);
    memcpy(&in6, &address->at, sizeof in6);
    switch (address->at.ss_family) {
    case AF_UNIX:
        return true;
    case AF_INET:
        return (ntohl(in.sin_addr.s_addr) >> 24) == 127;
    default:
        return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
    }
}

static void read_port(struct address *address, int fd)
{
    char port[NI_MAXSERV];
    socklen_t length = sizeof address->at;

    if (address->at.ss_family == AF_UNIX ||
        getsockname(fd, (struct sockaddr *)&address->at, &length) != 0 ||
        getnameinfo((struct sockaddr *)&address->at, length, NULL, 0, port, sizeof port,
                    NI_NUMERICSERV) != 0)
        return;
    char *colon = strrchr(address->text, ':');
    snprintf(colon + 1, sizeof address->text - (size_t)(colon + 1 - address->text), "%s", port);
}

int address_listen(struct address *address, struct error *error)
{
    static const int on = 1;

    if (!is_near(address)) {
        error_set(error, ERROR_INVALID, "%s: a relay listens on the loopback interface alone",
                  address->text);
        return -1;
    }
    int fd = socket(address->at.ss_family, SOCKET_FLAGS, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&address->at, address->length) != 0 ||
        listen(fd, BACKLOG) != 0) {
        error_fail(error, "a relay cannot listen on %s: %s", address->text, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    read_port(address, fd);
    return fd;
}

static int hurry(int fd)
{
    static const int on = 1;

    if (fd >= 0) /* a unix socket has no such option, and needs none */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

int address_connect(const struct address *address)
{
    int fd = socket(address->at.ss_family, SOCKET_FLAGS, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&address->at, address->length) == 0 ||
        errno == EINPROGRESS)
        return hurry(fd);
    close(fd);
    return -1;
}

int address_accept(int listener)
{
    return hurry(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
}
