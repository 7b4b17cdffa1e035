/* See memcached.h. */
#include "loadtest/zoo/backends/memcached.h"

#include "loadtest/zoo/backends/dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool memcached_is_open(const struct memcached *memcached)
{
    return memcached->socket > 0;
}

void memcached_close(struct memcached *memcached)
{
    if (memcached_is_open(memcached))
        close(memcached->socket);
    memcached->socket = 0;
}

bool memcached_open(struct memcached *memcached, const char *address, struct error *error)
{
    int one = dial_address(address);
    memcached->socket = one > 0 ? one : 0;
    return one > 0 || error_fail(error, "memcached (--memcached): %s", strerror(errno));
}

/* A line that ends an answer: every one but VALUE and what follows it. */
static bool is_whole(const char *reply, size_t length)
{
    if (length < 2 || memcmp(reply + length - 2, "\r\n", 2) != 0)
        return false;
    return strncmp(reply, "VALUE ", 6) != 0 ||
           (length >= 7 && memcmp(reply + length - 7, "\r\nEND\r\n", 7) == 0);
}

bool memcached_say(struct memcached *memcached, const char *command,
                   char reply[MEMCACHED_REPLY_SIZE], struct error *error)
{
    size_t length = 0;
    *reply = '\0';
    if (!dial_send(memcached->socket, command, strlen(command)))
        return error_fail(error, "memcached: %s", strerror(errno));
    while (!is_whole(reply, length)) {
        ssize_t got = length + 1 < MEMCACHED_REPLY_SIZE ? recv(memcached->socket, reply + length,
                                                               MEMCACHED_REPLY_SIZE - 1 - length, 0)
                                                        : 0;
        if (got <= 0)
            return error_fail(error, "memcached: %s",
                              got < 0 ? strerror(errno) : "no whole answer");
        length += (size_t)got;
        reply[length] = '\0';
    }
    reply[length - 2] = '\0';
    return strstr(reply, "ERROR") != reply && strncmp(reply, "CLIENT_ERROR", 12) != 0 &&
                   strncmp(reply, "SERVER_ERROR", 12) != 0
               ? true
               : error_fail(error, "memcached: %s", reply);
}
