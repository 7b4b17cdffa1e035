/*
 * A Redis server as the sessions with it share it: where it is, and what is known of it.
 *
 * cache_create parses the URL and connects to nothing. The rest is written by whichever session
 * learns it and read by any thread without I/O; whether it serves is in health.c. A URL that cannot
 * be read is the one error.
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

static bool copy_host(struct cache *cache, const char *from, size_t length)
{
    if (length == 0 || length > REDIS_HOST_MAX)
        return false;
    memcpy(cache->host, from, length);
    cache->host[length] = '\0';
    return true;
}

static bool parse_url(struct cache *cache, const char *url)
{
    cache->port = 6379;
    if (strncmp(url, "unix://", 7) == 0) {
        cache->is_unix = true;
        return url[7] == '/' && copy_host(cache, url + 7, strlen(url + 7));
    }
    if (strncmp(url, "redis://", 8) != 0)
        return false;
    const char *host = url + 8;
    const char *slash = strchrnul(host, '/');
    const char *colon = memchr(host, ':', (size_t)(slash - host));
    const char *host_end = colon ? colon : slash;

    if (host_end == host ? !copy_host(cache, "127.0.0.1", 9)
                         : !copy_host(cache, host, (size_t)(host_end - host)))
        return false;
    if (colon && !parse_number(colon + 1, slash, 65535, &cache->port))
        return false;
    return !*slash || !slash[1] ||
           parse_number(slash + 1, slash + 1 + strlen(slash + 1), 9999, &cache->database);
}

struct cache *cache_create(const char *url, struct error *error)
{
    struct cache *cache = calloc(1, sizeof *cache);

    if (!cache) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    if (!parse_url(cache, url)) {
        error_set(error, ERROR_INVALID, "\"%s\" is not redis://HOST:PORT/DB or unix:///PATH", url);
        free(cache);
        return NULL;
    }
    pthread_mutex_init(&cache->state.mutex, NULL);
    snprintf(cache->state.why, sizeof cache->state.why, "not asked yet");
    return cache;
}

void cache_destroy(struct cache *cache)
{
    if (!cache)
        return;
    pthread_mutex_destroy(&cache->state.mutex);
    free(cache);
}

void cache_place(const struct cache *cache, char *out, size_t size)
{
    if (cache->is_unix)
        snprintf(out, size, "%s", cache->host);
    else
        snprintf(out, size, "%s:%d", cache->host, cache->port);
}

int cache_version(const struct cache *cache)
{
    return atomic_load_explicit(&cache->version, memory_order_relaxed);
}

unsigned cache_flaws(const struct cache *cache)
{
    return atomic_load_explicit(&cache->flaws, memory_order_relaxed);
}

void cache_note(struct cache *cache, int version, unsigned flaws)
{
    atomic_store_explicit(&cache->version, version, memory_order_relaxed);
    atomic_store_explicit(&cache->flaws, flaws, memory_order_relaxed);
}
