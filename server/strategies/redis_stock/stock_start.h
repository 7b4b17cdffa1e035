/* redis-stock is made and taken down. */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_START_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_START_H

#include "strategy/strategy.h"

struct redis_stock;

/* `services` and `strategy`, its row, are borrowed. NULL: `error` says why. */
struct redis_stock *stock_start(const struct services *services, const struct strategy *strategy,
                                struct error *error);
void stock_stop(struct redis_stock *stock);

#endif
