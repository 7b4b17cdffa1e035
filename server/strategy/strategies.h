/* The strategies' rows, each defined in its own file and listed in registry.c. */
#ifndef SECKILL_STRATEGY_STRATEGIES_H
#define SECKILL_STRATEGY_STRATEGIES_H

#include "strategy/strategy.h"

extern const struct strategy strategy_none;
extern const struct strategy strategy_local_lock;
extern const struct strategy strategy_pessimistic;
extern const struct strategy strategy_optimistic;
extern const struct strategy strategy_conditional;
extern const struct strategy strategy_serializable;
extern const struct strategy strategy_advisory_lock;
extern const struct strategy strategy_lock_row;
extern const struct strategy strategy_buckets;
extern const struct strategy strategy_batch;
extern const struct strategy strategy_redis_queue;

#ifdef SECKILL_FAILPOINTS
/* Controls: what does not work, kept for the tests that show it. Not in a release build. */
extern const struct strategy control_upsert_lock;
extern const struct strategy control_lease_less_lock_row;
#endif

#endif
