/*
 * Spending: what the orders of each strategy cost PostgreSQL and Redis, in /metrics.
 *
 * A thread's costs (metrics/cost.h) are charged whenever it has finished something: to the strategy
 * it works for, and to how the orders ended that it was done for. A batch that sold to anybody is
 * charged to what it sold, for those who were refused in it cost next to nothing; a batch that only
 * refused, to whom it refused. So costs divided by orders, of one ending, are what one order costs.
 * What is spent in between (a lock acquired, a poll that found nothing) goes with the next charge.
 */
#ifndef SECKILL_STRATEGY_COST_ACCOUNTING_H
#define SECKILL_STRATEGY_COST_ACCOUNTING_H

#include "strategy/strategy.h"

#include <stdint.h>

enum spending_end {
    SPENT_COMMITTED, /* buys were sold */
    SPENT_REFUSED,   /* buys were refused, for good */
    SPENT_ACCEPTED,  /* buys wait elsewhere to be decided: what that costs is charged apart */
    SPENT_NEITHER,   /* races lost, failures, repeats, cancels, restocks, looking after things */
    SPENDING_ENDS
};

/* Registers the metrics; once, at start. */
void spending_init(void);

/* Charges what this thread has spent since the last charge, for that many orders. */
void spending_charge(const struct strategy *strategy, enum spending_end end, int orders);

/* How many buys of something that was worked on ended how. */
struct spending_count {
    int ends[SPENDING_ENDS];
};
/* Adds one buy; what is not decided yet, or not a yes or a no, is NEITHER. */
void spending_count_buy(struct spending_count *count, enum order_outcome outcome);
/* Charges to the first of the endings that has orders, and returns it. */
enum spending_end spending_charge_count(const struct strategy *strategy,
                                        const struct spending_count *count);

#endif
