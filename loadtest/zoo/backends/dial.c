/* See dial.h. */
#include "loadtest/zoo/backends/dial.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { CALL_LIMIT_S = 5 };

static int dial(int family, const struct sockaddr *address, socklen_t length)
{
    const struct timeval limit = {.tv_sec = CALL_LIMIT_S};
    int one = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (one < 0)
        return -1;
    setsockopt(one, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(one, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(one, address, length) == 0)
        return one;
    close(one);
    return -1;
}

static int dial_path(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    return dial(AF_UNIX, (const struct sockaddr *)&address, sizeof address);
}

static int dial_host(const char *address)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[256];
    const char *colon = strrchr(address, ':');
    int one = -1;
    errno = EINVAL;
    if (!colon || (size_t)(colon - address) >= sizeof host)
        return -1;
    snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
    errno = EADDRNOTAVAIL;
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
        return -1;
    for (const struct addrinfo *at = found; at && one < 0; at = at->ai_next)
        one = dial(at->ai_family, at->ai_addr, at->ai_addrlen);
    freeaddrinfo(found);
    return one;
}

int dial_address(const char *address)
{
    static const char path[] = "unix://";
    return strncmp(address, path, strlen(path)) == 0 ? dial_path(address + strlen(path))
                                                     : dial_host(address);
}

bool dial_send(int socket, const void *bytes, size_t length)
{
    const char *text = bytes;
    while (length > 0) {
        ssize_t sent = send(socket, text, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        text += sent;
        length -= (size_t)sent;
    }
    return true;
}
