/*
 * What all files of redis-stock use: how to reach both stores, what a call to them may answer, and
 * the names of keys.
 *
 * The stock is in --stock-streams shards, each with keys of its own in one slot of a cluster, so
 * that their nodes share the work and one that fails takes its own products along alone. A product
 * is in the shard of its id's remainder; so is an order, by a part of its id.
 *
 * A shard's keys, all under "{SYSTEM}:stock" where it is the only one, else under
 * "{SYSTEM:SHARDS:N}:stock", N such that the shards' slots are evenly apart: mirror:PRODUCT (a
 * hash), users:PRODUCT:GENERATION (units a user holds, with a limit), loaded (a set of products),
 * units (PRODUCT:EPOCH: reserved; PRODUCT:EPOCH:orders: how many wait; "orders": in all; "closed":
 * nothing is reserved any more), key:USER:KEY, call:WORKER (its last answer), kept
 * (stock_replicas.h); and orders (the stream), waiting and partly (stock_waiting.h). Under
 * "{SYSTEM}:stock" alone: leases and streams (stock_lease.h).
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_LINK_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_LINK_H

#include "base/log.h"
#include "postgres/pg.h"
#include "redis/redis.h"
#include "settings/settings.h"

#include "base/random/uuid.h"

#include <stdatomic.h>

enum {
    STOCK_SHARDS_MAX = 32,
    STOCK_KEY_MAX = 192,
    STOCK_GENERATION_MAX = 24,
    STOCK_NUMBER_MAX = 24
};

struct stock_shard {
    char prefix[STOCK_KEY_MAX]; /* of its keys */
    int slot;                   /* of a cluster */
};

/* All of them, as so many streams have them. */
struct stock_shards {
    int count;
    struct stock_shard at[STOCK_SHARDS_MAX];
};

void stock_shards_init(struct stock_shards *shards, const struct settings *settings, int count);
int stock_shard_of(const struct stock_shards *shards, int64_t product_id);
/* An id's group tells the shard by the remainder of its last 16 bits: a group like this one which
 * tells that, and what an id tells. */
uint64_t stock_group_in(const struct stock_shards *shards, int shard, uint64_t group);
int stock_shard_of_id(const struct stock_shards *shards, const struct uuid *id);

/* How to reach both stores, for the length of one call, and until when. It belongs to one thread,
 * as its sessions do. */
struct stock_link {
    const struct settings *settings;
    const struct stock_shard *shard; /* whose keys are meant; stock_aim */
    struct pg *pg;                   /* connected and idle */
    struct redis *redis;             /* connected */
    int64_t until_us;
    const atomic_bool *stopped; /* NULL, or: what takes long ends early */
    const char *strategy;       /* by which orders are written; the writer's alone */
};

enum stock_result {
    STOCK_DONE,
    STOCK_ABSENT,      /* there is no such product */
    STOCK_HELD,        /* somebody held the product's row for as long as was waited for it */
    STOCK_UNREACHABLE, /* one of the stores; the log has said which */
    STOCK_STALE        /* another generation than the one named, or not loaded */
};

/* From now on the link and its session with Redis are about this shard. */
void stock_aim(struct stock_link *link, const struct stock_shard *shard);

/* The shard's prefix and, if `name` is not NULL, ":NAME"; with `id` ≥ 0 ":ID" as well. */
void stock_key(const struct stock_shard *shard, const char *name, int64_t id,
               char out[STOCK_KEY_MAX]);
/* Adds to the end of it. */
void stock_key_add(char key[STOCK_KEY_MAX], const char *more);
void stock_number(int64_t n, char out[STOCK_NUMBER_MAX]);
/* From now on the link's calls have as long as work may take. */
void stock_give_time(struct stock_link *link);

/* Log what the session says and answer STOCK_UNREACHABLE. */
static inline enum stock_result stock_redis_failed(struct redis *redis)
{
    log_warn("redis-stock: %s", redis_error(redis)->text);
    return STOCK_UNREACHABLE;
}

static inline enum stock_result stock_pg_failed(struct pg *pg)
{
    log_warn("redis-stock: %s", pg_error(pg)->text);
    return STOCK_UNREACHABLE;
}

#endif
