/* See memcached.h. */
#include "loadtest/zoo/memcached.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

redisContext *memcached_open(const char *address, struct error *error)
{
    static const char scheme[] = "unix://";
    const struct timeval limit = {.tv_sec = 5};
    const char *colon = strrchr(address, ':');
    char host[256];
    bool is_path = strncmp(address, scheme, strlen(scheme)) == 0;
    snprintf(host, sizeof host, "%.*s", colon ? (int)(colon - address) : 0, address);
    redisContext *session =
        is_path
            ? redisConnectUnixWithTimeout(address + strlen(scheme), limit)
            : redisConnectWithTimeout(host, colon ? (int)strtol(colon + 1, NULL, 10) : 0, limit);
    if (session && !session->err && redisSetTimeout(session, limit) == REDIS_OK)
        return session;
    error_fail(error, "memcached (--memcached): %s", session ? session->errstr : "out of memory");
    if (session)
        redisFree(session);
    return NULL;
}

/* A line that ends an answer: every one but VALUE and what follows it. */
static bool is_whole(const char *reply, size_t length)
{
    if (length < 2 || memcmp(reply + length - 2, "\r\n", 2) != 0)
        return false;
    return strncmp(reply, "VALUE ", 6) != 0 ||
           (length >= 7 && memcmp(reply + length - 7, "\r\nEND\r\n", 7) == 0);
}

bool memcached_say(redisContext *session, const char *command, char reply[MEMCACHED_REPLY_SIZE],
                   struct error *error)
{
    char line[MEMCACHED_REPLY_SIZE];
    size_t length = 0;
    int size = snprintf(line, sizeof line, "%s\r\n", command);
    if (size >= (int)sizeof line || send(session->fd, line, (size_t)size, MSG_NOSIGNAL) != size)
        return error_fail(error, "memcached: the command cannot be sent");
    while (!is_whole(reply, length)) {
        ssize_t got = length + 1 < MEMCACHED_REPLY_SIZE
                          ? recv(session->fd, reply + length, MEMCACHED_REPLY_SIZE - 1 - length, 0)
                          : 0;
        if (got <= 0)
            return error_fail(error, "memcached: %s",
                              got < 0 ? strerror(errno) : "no whole answer");
        length += (size_t)got;
        reply[length] = '\0';
    }
    reply[length - 2] = '\0';
    return strncmp(reply, "ERROR", 5) != 0 && strncmp(reply, "CLIENT_ERROR", 12) != 0 &&
                   strncmp(reply, "SERVER_ERROR", 12) != 0
               ? true
               : error_fail(error, "memcached: %s", reply);
}
