/*
 * A Redis server as the sessions with it share it: where it is, and what is known of it.
 *
 * redis_server_create parses the URL and connects to nothing. The rest is written by whichever
 * session learns it and read by any thread without I/O; whether it serves is in health.c. A URL
 * that cannot be read is the one error.
 */
#include "redis/redis_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_number(const char *text, const char *end, int max, int *out)
{
    long n = 0;

    if (text == end || end - text > 5)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        n = n * 10 + (*text - '0');
    }
    *out = (int)n;
    return n <= max;
}

static bool copy_host(struct redis_server *server, const char *from, size_t length)
{
    if (length == 0 || length > REDIS_HOST_MAX)
        return false;
    memcpy(server->host, from, length);
    server->host[length] = '\0';
    return true;
}

static bool parse_url(struct redis_server *server, const char *url)
{
    server->port = 6379;
    if (strncmp(url, "unix://", 7) == 0) {
        server->is_unix = true;
        return url[7] == '/' && copy_host(server, url + 7, strlen(url + 7));
    }
    if (strncmp(url, "redis://", 8) != 0)
        return false;
    const char *host = url + 8;
    const char *slash = strchrnul(host, '/');
    const char *colon = memchr(host, ':', (size_t)(slash - host));
    const char *host_end = colon ? colon : slash;

    if (host_end == host ? !copy_host(server, "127.0.0.1", 9)
                         : !copy_host(server, host, (size_t)(host_end - host)))
        return false;
    if (colon && !parse_number(colon + 1, slash, 65535, &server->port))
        return false;
    return !*slash || !slash[1] ||
           parse_number(slash + 1, slash + 1 + strlen(slash + 1), 9999, &server->database);
}

struct redis_server *redis_server_create(const char *url, struct error *error)
{
    struct redis_server *server = calloc(1, sizeof *server);

    if (!server) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    if (!parse_url(server, url)) {
        error_set(error, ERROR_INVALID, "\"%s\" is not redis://HOST:PORT/DB or unix:///PATH", url);
        free(server);
        return NULL;
    }
    pthread_mutex_init(&server->state.mutex, NULL);
    snprintf(server->state.why, sizeof server->state.why, "not asked yet");
    return server;
}

void redis_server_destroy(struct redis_server *server)
{
    if (!server)
        return;
    pthread_mutex_destroy(&server->state.mutex);
    free(server);
}

void redis_server_place(const struct redis_server *server, char *out, size_t size)
{
    if (server->is_unix)
        snprintf(out, size, "%s", server->host);
    else
        snprintf(out, size, "%s:%d", server->host, server->port);
}

int redis_server_version(const struct redis_server *server)
{
    return atomic_load_explicit(&server->version, memory_order_relaxed);
}

unsigned redis_server_flaws(const struct redis_server *server)
{
    return atomic_load_explicit(&server->flaws, memory_order_relaxed);
}

void redis_server_note(struct redis_server *server, int version, unsigned flaws)
{
    atomic_store_explicit(&server->version, version, memory_order_relaxed);
    atomic_store_explicit(&server->flaws, flaws, memory_order_relaxed);
}
