/*
 * The sweeper: gives back what pending orders hold when nobody has paid in time.
 *
 * Every instance has one. A sweep takes on some holds that are over (one statement, which passes by
 * rows that another instance has just taken on) and sends each through its strategy's lane as an
 * ORDER_EXPIRE, the strategy's own cancel under its own lock. So a plain body is not disturbed by
 * it, buckets and redis-stock's mirror get their units as from a cancel, and PostgreSQL decides
 * once: nothing here can give back twice, however many sweep.
 *
 * Failure modes:
 * - This instance dies: what it has taken on is due again CLAIM_MS later, for any instance.
 * - Somebody holds a product's row, or its lock: its orders wait in their mailbox for WAIT_US, and
 *   the product rests a while; holds of other products are taken on meanwhile, however many of this
 *   one are due, because one that is under way or rests is left out of the search.
 * - The backend of a strategy's lock is gone: its stand-in (strategy_stand_in) does it, or, where
 *   it has none, it waits for the backend.
 *
 * Thread rule: sweeper_sweep on one thread; sweeper_take_back on any.
 */
#ifndef SECKILL_DISPATCH_SWEEPER_H
#define SECKILL_DISPATCH_SWEEPER_H

#include "strategy/strategy.h"

#include <stdbool.h>
#include <stdint.h>

struct pg;
struct sweeper;

/* `submit` gets the orders; each comes back by sweeper_take_back, decided. NULL when out of memory.
 */
struct sweeper *sweeper_create(const struct services *services,
                               void (*submit)(void *context, struct order *list), void *context);
/* Whatever was submitted has come back. NULL is allowed. */
void sweeper_destroy(struct sweeper *sweeper);

/* One sweep. `pg` is connected and outside of a transaction. True when there may be more. */
bool sweeper_sweep(struct sweeper *sweeper, struct pg *pg);
/* Takes the ORDER_EXPIREs out of the list of decided orders, and returns the others. */
struct order *sweeper_take_back(struct sweeper *sweeper, struct order *list);

#endif
