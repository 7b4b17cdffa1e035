/*
 * Orders that were answered 202 and that Redis has lost, as a failover does that had not copied
 * them: they are ended, and said.
 *
 * A round of the reconciler ends with this. Redis is asked whether the orders that this instance
 * has kept undecided since before the round (stock_kept.h) still wait there. An order that does not
 * is decided already, or lost: under the product's row lock PostgreSQL says which, because each
 * writer that decides an order holds that lock. An order without a row is written as failed,
 * `lost`, so that its end can be read, and no writer that has the entry in hand meanwhile can
 * decide it any more.
 *
 * Failure modes: a store is out of reach, or the row is held: it is tried again in the next round.
 * An instance that dies before that takes its kept orders along; those are lost without a word.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_LOST_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_LOST_H

#include "strategies/redis_stock/writer/stock_kept.h"

struct stock_lost {
    int64_t before_us; /* what is kept since then waits for the next round */
    int slot;
    int64_t orders; /* ended as lost */
    int64_t held;   /* entries that are missing, and whose rows are held */
};

void stock_lost_begin(struct stock_lost *search);
/* Asks about the next few; `claims` is WRITE_MAX of the caller's. *over, with STOCK_DONE: they were
 * the last ones. *ended: how many orders were ended now, whatever it answers. */
enum stock_result stock_lost_step(struct stock_link *link, struct stock_kept *kept,
                                  struct stock_lost *search, struct claim *claims, bool *over,
                                  int *ended);

#endif
