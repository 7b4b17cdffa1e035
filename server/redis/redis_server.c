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

enum { SHARDED_LEAST = 700 };

struct redis_server *redis_server_create(const char *url, const char *ca_file, struct error *error)
{
    struct redis_server *server = calloc(1, sizeof *server);

    if (!server) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&server->state.mutex, NULL);
    bool usable = redis_url_parse(url, &server->url, error);
    if (usable && server->url.tls) {
        server->tls = redis_tls_create(ca_file, error);
        usable = server->tls != NULL;
    }
    server->resolver = usable ? resolver_create() : NULL;
    if (usable && !server->resolver)
        usable = error_set(error, ERROR_INTERNAL, "out of memory");
    if (!usable) {
        redis_server_destroy(server);
        return NULL;
    }
    snprintf(server->state.why, sizeof server->state.why, "not asked yet");
    return server;
}

void redis_server_destroy(struct redis_server *server)
{
    if (!server)
        return;
    pthread_mutex_destroy(&server->state.mutex);
    if (server->cluster)
        server->routing->destroy(server->cluster);
    if (!server->of) {
        resolver_destroy(server->resolver);
        redis_tls_destroy(server->tls);
    }
    free(server);
}

struct redis_server *redis_server_create_node(const struct redis_server *of,
                                              const struct redis_place *place)
{
    struct redis_server *server = calloc(1, sizeof *server);

    if (!server)
        return NULL;
    pthread_mutex_init(&server->state.mutex, NULL);
    server->of = of;
    server->url = of->url;
    server->url.places[0] = *place;
    server->tls = of->tls;
    server->resolver = of->resolver;
    server->replicas = of->replicas;
    atomic_store(&server->clustered, true);
    snprintf(server->state.why, sizeof server->state.why, "not asked yet");
    return server;
}

bool redis_server_allows_cluster(const struct redis_server *server)
{
    return server->cluster;
}

void redis_server_place(const struct redis_server *server, char *out, size_t size)
{
    const struct redis_url *url = &server->url;
    int n = url->primary[0] ? snprintf(out, size, "%s of ", url->primary) : 0;

    for (int i = 0; i < url->count && n >= 0 && (size_t)n < size; i++)
        n += url->is_unix ? snprintf(out + n, size - (size_t)n, "%s", url->places[i].host)
                          : snprintf(out + n, size - (size_t)n, "%s%s:%d", i > 0 ? "," : "",
                                     url->places[i].host, url->places[i].port);
}

int redis_server_version(const struct redis_server *server)
{
    return atomic_load_explicit(&server->version, memory_order_relaxed);
}

bool redis_server_is_cluster(const struct redis_server *server)
{
    return atomic_load_explicit(&server->clustered, memory_order_relaxed);
}

bool redis_is_cluster(const struct redis *redis)
{
    return redis_is_routed(redis);
}

bool redis_server_is_sharded(const struct redis_server *server)
{
    if (server->of)
        server = server->of;
    return server->cluster && redis_server_is_cluster(server) &&
           redis_server_version(server) >= SHARDED_LEAST;
}

const char *redis_publish_command(const struct redis *redis)
{
    return redis_server_is_sharded(redis->server) ? "SPUBLISH" : "PUBLISH";
}

unsigned redis_server_flaws(const struct redis_server *server)
{
    return atomic_load_explicit(&server->flaws, memory_order_relaxed);
}

const char *redis_server_lock_flaw(const struct redis_server *server)
{
    return redis_server_flaws(server) & REDIS_EVICTS
               ? "not safe: maxmemory-policy is not noeviction, a lock may be evicted while it is "
                 "held"
               : "";
}

void redis_server_note(struct redis_server *server, int version, unsigned flaws)
{
    atomic_store_explicit(&server->version, version, memory_order_relaxed);
    atomic_store_explicit(&server->flaws, flaws, memory_order_relaxed);
}
