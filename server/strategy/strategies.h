/* The strategies' rows, each defined in its own file and listed in registry.c. */
#ifndef SECKILL_STRATEGY_STRATEGIES_H
#define SECKILL_STRATEGY_STRATEGIES_H

#include "strategy/strategy.h"

extern const struct strategy strategy_none;
extern const struct strategy strategy_local_lock;
extern const struct strategy strategy_pessimistic;
extern const struct strategy strategy_optimistic;
extern const struct strategy strategy_conditional;
extern const struct strategy strategy_redis_queue;
extern const struct strategy strategy_redis_stock;

#endif
