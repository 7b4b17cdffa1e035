/* What redis-stock keeps outside PostgreSQL; see external_state.h. */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_OUTSIDE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_OUTSIDE_H

#include "strategy/external_state.h"

extern const struct outside stock_outside;

/* Closes the sessions that were kept for the next caller. */
void stock_outside_stop(void);

#endif
