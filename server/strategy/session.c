/*
 * Opens nothing: connections are made when drive.c first needs them, and stay. What a session has
 * is what this process was configured with; without memory there is no session.
 */
#include "strategy/session.h"

#include "base/clock.h"
#include "lock/memcache.h"
#include "lock/redis/redlock.h"
#include "rabbitmq/rabbit.h"
#include "redis/redis.h"

#include <stdlib.h>

struct session *session_create(const struct services *services)
{
    struct session *session = calloc(1, sizeof *session);

    if (!session)
        return NULL;
    session->services = services;
    session->wait_until_us = session->lock_until_us = INT64_MAX;
    session->pg = pg_create(services->store);
    if (services->redis)
        session->redis = redis_create(services->redis);
    if (services->broker)
        session->rabbit = rabbit_create(services->broker);
    if (services->redlock)
        session->redlock = redlock_open(services->redlock);
    if (services->memcache)
        session->memcache = memcache_open(services->memcache);
    if (services->stock_redis)
        session->stock = redis_create(services->stock_redis);
    if (!session->pg || (services->redis && !session->redis) ||
        (services->stock_redis && !session->stock) || (services->broker && !session->rabbit) ||
        (services->redlock && !session->redlock) || (services->memcache && !session->memcache)) {
        session_destroy(session);
        return NULL;
    }
    return session;
}

void session_destroy(struct session *session)
{
    if (!session)
        return;
    pg_destroy(session->pg);
    redis_destroy(session->redis);
    redis_destroy(session->stock);
    rabbit_destroy(session->rabbit);
    redlock_close(session->redlock);
    memcache_close(session->memcache);
    free(session);
}

struct lock_client session_lock_client(const struct session *session)
{
    return (struct lock_client){.redis = session->redis,
                                .renewer = session->services->renewer,
                                .settings = session->services->settings,
                                .pg = session->pg,
                                .redlock = session->redlock,
                                .memcache = session->memcache,
                                .zookeeper = session->services->zookeeper};
}

bool session_lease_lost(const struct session *session)
{
    return session->hold.held && atomic_load(&session->hold.lease.lost);
}

void session_work_pause(const struct session *session)
{
    int64_t work_ms = session->services->settings->work_ms;

    if (work_ms > 0)
        clock_sleep_until(clock_mono_us() + work_ms * CLOCK_US_PER_MS);
}
