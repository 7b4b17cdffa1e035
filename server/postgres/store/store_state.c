/* What is known of the database as a whole: cached, for any thread, without I/O. */
#include "postgres/pg_internal.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

bool store_up(const struct store *store)
{
    return atomic_load_explicit(&store->up, memory_order_relaxed);
}

int64_t store_sessions(const struct store *store)
{
    return atomic_load_explicit(&store->sessions, memory_order_relaxed);
}

bool store_ready(const struct store *store)
{
    return atomic_load_explicit(&store->ready, memory_order_acquire);
}

struct store_durability store_durability(struct store *store)
{
    pthread_mutex_lock(&store->shared.mutex);
    struct store_durability durability = store->shared.durability;
    pthread_mutex_unlock(&store->shared.mutex);
    return durability;
}

const char *store_trouble(const struct store *store)
{
    return atomic_load_explicit(&store->trouble, memory_order_relaxed);
}

void store_set_trouble(struct store *store, const char *trouble)
{
    const char *before = atomic_exchange_explicit(&store->trouble, trouble, memory_order_relaxed);

    if (strcmp(before, trouble) != 0)
        store_renew_sessions(store);
}

bool store_serves(const struct store *store)
{
    return store_up(store) && store_ready(store) && !*store_trouble(store);
}

int64_t pg_epoch_base(const struct pg *pg)
{
    return atomic_load_explicit(&pg->store->epoch_base, memory_order_relaxed);
}

void store_doubt(struct store *store)
{
    atomic_store_explicit(&store->ready, false, memory_order_release);
}

/* Sessions that are open now are closed when they are next to be used. */
void store_renew_sessions(struct store *store)
{
    atomic_fetch_add_explicit(&store->path_number, 1, memory_order_relaxed);
}

bool pg_plans_outgrown(const struct pg *pg)
{
    return !pg->pooled &&
           pg->plans_number != atomic_load_explicit(&pg->store->plans_number, memory_order_relaxed);
}

bool store_waits(const struct store *store)
{
    return atomic_load_explicit(&store->waits, memory_order_relaxed);
}

unsigned store_path_number(const struct store *store)
{
    return atomic_load_explicit(&store->path_number, memory_order_relaxed);
}

unsigned store_path(struct store *store, char path[STORE_PATH_SIZE])
{
    pthread_mutex_lock(&store->shared.mutex);
    snprintf(path, STORE_PATH_SIZE, "%s", store->shared.path);
    unsigned number = store_path_number(store);
    pthread_mutex_unlock(&store->shared.mutex);
    return number;
}

unsigned store_set_path(struct store *store, const char *path)
{
    pthread_mutex_lock(&store->shared.mutex);
    if (strcmp(path, store->shared.path) != 0) {
        snprintf(store->shared.path, sizeof store->shared.path, "%s", path);
        atomic_fetch_add_explicit(&store->path_number, 1, memory_order_relaxed);
    }
    unsigned number = store_path_number(store);
    pthread_mutex_unlock(&store->shared.mutex);
    return number;
}

bool store_wants_room(const struct store *store)
{
    int64_t until_us = atomic_load_explicit(&store->wanted_until_us, memory_order_relaxed);

    return until_us && clock_mono_us() < until_us;
}
