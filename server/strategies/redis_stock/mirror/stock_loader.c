/*
 * Happy path: take the product that was asked for first, connect, load its mirror, and the next;
 * with nothing left, close the sessions and wait.
 *
 * Failure modes:
 * - The product's row is held: it is waited for as long as work may take, and again after a moment,
 *   until it is had.
 * - Anything else fails: the mirror is given up, and asked for by the next order.
 * - The server stops: the load ends with its next piece.
 */
#include "strategies/redis_stock/mirror/stock_loader.h"

#include "base/clock.h"
#include "strategies/redis_stock/mirror/stock_mirror.h"
#include "strategies/redis_stock/stock_instance.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ASKED_MAX = 256, PAUSE_US = 100000 };

struct stock_loader {
    const struct stock_shards *shards; /* borrowed */
    struct stock_link link;            /* the thread's; owns its sessions */
    pthread_t thread;
    atomic_bool stopping;
    pthread_mutex_t mutex; /* of what follows; held for no I/O */
    pthread_cond_t changed;
    int count;
    int64_t asked[ASKED_MAX]; /* the first is the one that is being loaded */
};

/* Holds the mutex. Where the product stands; the count: it is not there. */
static int find(const struct stock_loader *loader, int64_t product_id)
{
    int i = 0;

    while (i < loader->count && loader->asked[i] != product_id)
        i++;
    return i;
}

void stock_loader_ask(struct stock_loader *loader, int64_t product_id)
{
    pthread_mutex_lock(&loader->mutex);
    if (find(loader, product_id) == loader->count && loader->count < ASKED_MAX)
        loader->asked[loader->count++] = product_id;
    pthread_cond_signal(&loader->changed);
    pthread_mutex_unlock(&loader->mutex);
}

bool stock_loader_will_load(struct stock_loader *loader, int64_t product_id)
{
    pthread_mutex_lock(&loader->mutex);
    bool will = find(loader, product_id) < loader->count;
    pthread_mutex_unlock(&loader->mutex);
    return will;
}

static enum stock_result load_one(const struct stock_shards *shards, struct stock_link *link,
                                  int64_t product_id)
{
    stock_aim(link, &shards->at[stock_shard_of(shards, product_id)]);
    stock_give_time(link);
    if (!pg_connect(link->pg, link->until_us))
        return stock_pg_failed(link->pg);
    if (!redis_connect(link->redis, link->until_us))
        return stock_redis_failed(link->redis);
    pg_lock_until(link->pg, link->until_us, link->settings->work_timeout_ms);
    return stock_mirror_load(link, product_id, false, INT64_MAX);
}

/* Holds the mutex, but not while it loads. One whose row is held makes room for the next. */
static void load_first(struct stock_loader *loader)
{
    int64_t product_id = loader->asked[0];

    pthread_mutex_unlock(&loader->mutex);
    enum stock_result result = load_one(loader->shards, &loader->link, product_id);
    if (result == STOCK_HELD)
        clock_sleep_until(clock_mono_us() + PAUSE_US);
    pthread_mutex_lock(&loader->mutex);
    loader->count--;
    memmove(loader->asked, loader->asked + 1, (size_t)loader->count * sizeof *loader->asked);
    if (result == STOCK_HELD && loader->count < ASKED_MAX)
        loader->asked[loader->count++] = product_id;
}

static void *loader_main(void *argument)
{
    struct stock_loader *loader = argument;

    pthread_mutex_lock(&loader->mutex);
    while (!atomic_load(&loader->stopping)) {
        if (loader->count > 0) {
            load_first(loader);
            continue;
        }
        pg_close(loader->link.pg);
        redis_close(loader->link.redis);
        pthread_cond_wait(&loader->changed, &loader->mutex);
    }
    pthread_mutex_unlock(&loader->mutex);
    return NULL;
}

static void destroy(struct stock_loader *loader)
{
    pg_destroy(loader->link.pg);
    redis_destroy(loader->link.redis);
    pthread_cond_destroy(&loader->changed);
    pthread_mutex_destroy(&loader->mutex);
    free(loader);
}

struct stock_loader *stock_loader_start(const struct redis_stock *stock, struct error *error)
{
    const struct services *services = stock->services;
    struct stock_loader *loader = calloc(1, sizeof *loader);

    if (!loader) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&loader->mutex, NULL);
    clock_cond_init(&loader->changed);
    loader->shards = &stock->shards;
    loader->link = (struct stock_link){
        .settings = services->settings,
        .pg = pg_create(services_store(services)),
        .redis = redis_create(services->backends[BACKEND_STOCK_REDIS]),
        .stopped = &loader->stopping,
    };
    if (loader->link.pg && loader->link.redis &&
        pthread_create(&loader->thread, NULL, loader_main, loader) == 0)
        return loader;
    destroy(loader);
    error_set(error, ERROR_INTERNAL, "cannot start redis-stock's loader");
    return NULL;
}

void stock_loader_stop(struct stock_loader *loader)
{
    if (!loader)
        return;
    pthread_mutex_lock(&loader->mutex);
    atomic_store(&loader->stopping, true);
    pthread_cond_signal(&loader->changed);
    pthread_mutex_unlock(&loader->mutex);
    pthread_join(loader->thread, NULL);
    destroy(loader);
}
