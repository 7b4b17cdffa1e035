#include "strategies/redis_stock/stock_link.h"

#include "base/clock.h"
#include "base/put.h"
#include "redis/cluster/slot.h"

#include <stdio.h>
#include <string.h>

/* The slot is in the middle half of the shard's part of all, so that it is not by chance the next
 * node's. */
static bool is_in_part(int slot, int number, int count)
{
    int part = REDIS_SLOTS / count;
    int from = number * part;

    return slot >= from + part / 4 && slot < from + part - part / 4;
}

static void find_name(struct stock_shard *shard, const char *system, int number, int count)
{
    for (int i = 0; i == 0 || !is_in_part(shard->slot, number, count); i++) {
        snprintf(shard->prefix, sizeof shard->prefix, "{%s:%d:%d}:stock", system, count, i);
        shard->slot = redis_slot(shard->prefix);
    }
}

void stock_shards_init(struct stock_shards *shards, const struct settings *settings, int count)
{
    struct stock_shard *first = &shards->at[0];

    shards->count = count;
    snprintf(first->prefix, sizeof first->prefix, "{%s}:stock", settings->system_name);
    first->slot = redis_slot(first->prefix);
    for (int i = 0; count > 1 && i < count; i++)
        find_name(&shards->at[i], settings->system_name, i, count);
}

int stock_shard_of(const struct stock_shards *shards, int64_t product_id)
{
    return (int)(product_id % shards->count);
}

uint64_t stock_group_in(const struct stock_shards *shards, int shard, uint64_t group)
{
    uint64_t low = group % (UINT16_MAX + 1);
    uint64_t of = low - low % (unsigned)shards->count + (unsigned)shard;

    if (of > UINT16_MAX)
        of -= (unsigned)shards->count;
    return group - low + of;
}

int stock_shard_of_id(const struct stock_shards *shards, const struct uuid *id)
{
    enum { LAST = sizeof id->bytes - 1 };

    return (id->bytes[LAST - 1] << 8 | id->bytes[LAST]) % shards->count;
}

void stock_aim(struct stock_link *link, const struct stock_shard *shard)
{
    link->shard = shard;
    redis_aim(link->redis, shard->slot);
}

void stock_key(const struct stock_shard *shard, const char *name, int64_t id,
               char out[STOCK_KEY_MAX])
{
    int n = snprintf(out, STOCK_KEY_MAX, "%s", shard->prefix);

    if (name)
        n += snprintf(out + n, (size_t)(STOCK_KEY_MAX - n), ":%s", name);
    if (id >= 0)
        snprintf(out + n, (size_t)(STOCK_KEY_MAX - n), ":%lld", (long long)id);
}

void stock_key_add(char key[STOCK_KEY_MAX], const char *more)
{
    size_t length = strlen(key);

    snprintf(key + length, STOCK_KEY_MAX - length, "%s", more);
}

void stock_number(int64_t n, char out[STOCK_NUMBER_MAX])
{
    put_number(out, n);
}

void stock_give_time(struct stock_link *link)
{
    link->until_us = clock_mono_us() + link->settings->work_timeout_ms * CLOCK_US_PER_MS;
}
