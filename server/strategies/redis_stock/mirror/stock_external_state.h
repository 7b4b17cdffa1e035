/* What redis-stock keeps outside PostgreSQL; see external_state.h. */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_EXTERNAL_STATE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_EXTERNAL_STATE_H

#include "strategy/external_state.h"

extern const struct external_state stock_external_state;

#endif
