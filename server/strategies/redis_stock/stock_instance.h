/* What one running redis-stock has: the session's instance between start and stop. */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_INSTANCE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_INSTANCE_H

#include "metrics/metrics.h"
#include "strategies/redis_stock/stock_flag.h"
#include "strategies/redis_stock/stock_lease.h"
#include "strategies/redis_stock/stock_lent.h"
#include "strategies/redis_stock/stock_mend.h"
#include "strategies/redis_stock/writer/stock_handover.h"

struct stock_loader;
struct writer;

/* Of a shard. */
struct stock_work {
    struct stock_mend mend;
    struct stock_handover handover;
    struct writer *writer;     /* owned */
    _Atomic int64_t drift;     /* of the last whole round */
    _Atomic int64_t oldest_us; /* since when the oldest undecided entry waits; 0: none */
};

struct redis_stock {
    const struct services *services; /* borrowed: app */
    const struct strategy *strategy; /* its row */
    struct stock_flag flag;
    struct stock_lent lent;
    struct stock_lease lease;    /* the first writer's */
    struct stock_loader *loader; /* owned */
    struct stock_shards shards;
    struct stock_work *work; /* owned; one a shard */
    atomic_bool stopping;
    struct {
        struct metric fates[CLAIM_FATES];
        struct metric rebuilds;
        struct metric rounds;
    } counters; /* the writers' */
};

static inline struct stock_work *stock_work_of(struct redis_stock *stock, int64_t product_id)
{
    return &stock->work[stock_shard_of(&stock->shards, product_id)];
}

#endif
