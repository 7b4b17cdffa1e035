#include "strategies/redis_stock/stock_lent.h"

#include "base/clock.h"
#include "strategies/redis_stock/stock_link.h"

void stock_lent_init(struct stock_lent *lent, struct redis_server *server)
{
    pthread_mutex_init(&lent->mutex, NULL);
    lent->server = server;
    lent->count = 0;
}

void stock_lent_fini(struct stock_lent *lent)
{
    while (lent->count > 0)
        redis_destroy(lent->sessions[--lent->count]);
    pthread_mutex_destroy(&lent->mutex);
}

struct redis *stock_lend(struct stock_lent *lent, int64_t timeout_us)
{
    struct redis *redis = NULL;

    pthread_mutex_lock(&lent->mutex);
    if (lent->count > 0)
        redis = lent->sessions[--lent->count];
    pthread_mutex_unlock(&lent->mutex);
    if (!redis)
        redis = redis_create(lent->server);
    if (redis && !redis_connect(redis, clock_mono_us() + timeout_us)) {
        stock_redis_failed(redis);
        redis_destroy(redis);
        redis = NULL;
    }
    return redis;
}

void stock_give_back(struct stock_lent *lent, struct redis *redis)
{
    pthread_mutex_lock(&lent->mutex);
    bool room = lent->count < STOCK_LENT_MAX;
    if (room)
        lent->sessions[lent->count++] = redis;
    pthread_mutex_unlock(&lent->mutex);
    if (!room)
        redis_destroy(redis);
}
