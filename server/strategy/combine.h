/*
 * The combiner: many orders of one product in one transaction, one flush.
 *
 * Lock the row in a statement of its own; decide in this process, in arrival order, whoever fits;
 * then one upsert of limits, one insert of orders, one update of the stock, COMMIT. An error other
 * than a lost COMMIT halves the orders until the guilty one is alone, so that one bad order cannot
 * refuse the others.
 */
#ifndef SECKILL_STRATEGY_COMBINE_H
#define SECKILL_STRATEGY_COMBINE_H

#include "strategy/session.h"

enum { COMBINE_MAX = 500 };

/* Decides `count` buys of one product (at most COMBINE_MAX) under the fence that the hold
 * registered: a row that carries another fence is LEASE_LOST for all. */
void combine_buys(struct session *session, struct order **orders, int count, int64_t fence);

#endif
