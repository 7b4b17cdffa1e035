#include "strategy/session.h"

#include "base/clock.h"
#include "cache/redis.h"

#include <stdlib.h>

struct session *session_create(const struct services *services)
{
    struct session *session = calloc(1, sizeof *session);

    if (!session)
        return NULL;
    session->services = services;
    session->pg = pg_create(services->store);
    if (services->cache)
        session->redis = redis_create(services->cache);
    if (services->stock_cache)
        session->stock = redis_create(services->stock_cache);
    if (!session->pg || (services->cache && !session->redis) ||
        (services->stock_cache && !session->stock)) {
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
    free(session);
}

void session_work_pause(const struct session *session)
{
    int64_t work_ms = session->services->settings->work_ms;

    if (work_ms > 0)
        clock_sleep_until(clock_mono_us() + work_ms * CLOCK_US_PER_MS);
}
