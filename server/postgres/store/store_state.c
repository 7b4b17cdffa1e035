/* The state of the database as a whole: cached, for any thread, without I/O. */
#include "postgres/pg_internal.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

bool store_up(const struct store *store)
{
    return atomic_load_explicit(&store->up, memory_order_relaxed);
}

int64_t store_snapshot_us(const struct store *store)
{
    return store_serves(store) ? atomic_load_explicit(&store->snapshot_us, memory_order_relaxed)
                               : 0;
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
    const bool flusher_does_not = store->shared.has_flusher && !store->shared.flusher.durable;
    struct store_durability durability =
        flusher_does_not ? store->shared.flusher : store->shared.durability;
    pthread_mutex_unlock(&store->shared.mutex);
    durability.standbys = store->limits.standbys;
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

void store_mark(struct store *store, char out[STORE_MARK_SIZE])
{
    pthread_mutex_lock(&store->shared.mutex);
    memcpy(out, store->shared.mark, STORE_MARK_SIZE);
    pthread_mutex_unlock(&store->shared.mutex);
}

int64_t pg_epoch_base(const struct pg *pg)
{
    return atomic_load_explicit(&pg->store->epoch_base, memory_order_relaxed);
}

void store_doubt(struct store *store)
{
    atomic_fetch_add_explicit(&store->doubts, 1, memory_order_relaxed);
    atomic_store_explicit(&store->ready, false, memory_order_release);
}

unsigned store_doubts(const struct store *store)
{
    return atomic_load_explicit(&store->doubts, memory_order_relaxed);
}

/* Sessions that are open now are closed when they are next to be used. */
void store_renew_sessions(struct store *store)
{
    atomic_fetch_add_explicit(&store->generation, 1, memory_order_relaxed);
}

void store_flaw(struct store *store, char *out, size_t size)
{
    pthread_mutex_lock(&store->shared.mutex);
    snprintf(out, size, "%s", store->shared.flaw);
    pthread_mutex_unlock(&store->shared.mutex);
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

bool store_counts(const struct store *store)
{
    return store->limits.standbys > 0;
}

unsigned store_generation(const struct store *store)
{
    return atomic_load_explicit(&store->generation, memory_order_relaxed);
}

unsigned store_schema(struct store *store, char schema[STORE_SCHEMA_SIZE])
{
    pthread_mutex_lock(&store->shared.mutex);
    snprintf(schema, STORE_SCHEMA_SIZE, "%s", store->shared.schema);
    unsigned number = store_generation(store);
    pthread_mutex_unlock(&store->shared.mutex);
    return number;
}

unsigned store_set_schema(struct store *store, const char *schema)
{
    pthread_mutex_lock(&store->shared.mutex);
    if (strcmp(schema, store->shared.schema) != 0) {
        snprintf(store->shared.schema, sizeof store->shared.schema, "%s", schema);
        atomic_fetch_add_explicit(&store->generation, 1, memory_order_relaxed);
    }
    unsigned number = store_generation(store);
    pthread_mutex_unlock(&store->shared.mutex);
    return number;
}

bool store_wants_room(const struct store *store)
{
    int64_t until_us = atomic_load_explicit(&store->wanted_until_us, memory_order_relaxed);

    return until_us && clock_mono_us() < until_us;
}
