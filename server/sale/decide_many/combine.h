/*
 * The combiner: many orders in one transaction, one flush.
 *
 * Where all of them want one product and nothing besides, and there is enough, one statement sells
 * to all. It passes by a locked row, so it never waits and cannot be out of time for one of them
 * alone.
 *
 * Otherwise by decide_many.h: lock the products' rows and wait for them, look up keys, decide in
 * this process; then one upsert of limits, one insert of orders, one update of stocks, COMMIT. An
 * error other than a lost COMMIT halves the orders until the guilty one is alone, so that one bad
 * order cannot refuse the others; each part has time of its own, and where that takes long the rest
 * stays PENDING and comes with a later batch. Works on the session's thread; allocates nothing, and
 * takes 350 KB of stack.
 */
#ifndef SECKILL_SALE_COMBINE_H
#define SECKILL_SALE_COMBINE_H

#include "strategy/session.h"

enum { COMBINE_MAX = 500 };

/* Refuses, by a look that locks nothing, those for which the last look at their product found too
 * little; a sold-out product costs PostgreSQL no log. How many are undecided: they stand first. */
int combine_look(struct session *session, struct order **orders, int count);

/* Decides `count` buys (at most COMBINE_MAX). With a fence, the one that the hold registered, they
 * are of one product, and a row that carries another is LEASE_LOST for all; 0: none. */
void combine_buys(struct session *session, struct order **orders, int count, int64_t fence);

#endif
