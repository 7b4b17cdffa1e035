/*
 * Cost accounting: what the orders of each strategy cost PostgreSQL and Redis, in /metrics.
 *
 * Bytes and round trips are counted per thread (metrics/cost.h). When a thread has finished a
 * batch, it charges what it has counted since its last charge to the strategy of the batch and to
 * one outcome: a batch that sold anything is charged to "committed", because the orders that it
 * refused cost next to nothing; a batch that only refused is charged to "refused". The costs of an
 * outcome divided by its orders are therefore the cost of one order. Costs between two batches (a
 * lock acquired, a poll that found nothing) are part of the next charge.
 */
#ifndef SECKILL_STRATEGY_COST_ACCOUNTING_H
#define SECKILL_STRATEGY_COST_ACCOUNTING_H

#include "strategy/strategy.h"

#include <stdint.h>

enum cost_outcome {
    COST_COMMITTED, /* buys were sold */
    COST_REFUSED,   /* buys were refused, for good */
    COST_ACCEPTED,  /* buys wait elsewhere to be decided: what that costs is charged apart */
    COST_OTHER,     /* races lost, failures, repeats, cancels, restocks, looking after things */
    COST_OUTCOMES
};

/* The counters of each strategy, registered; NULL when out of memory. */
struct cost_counters *cost_counters_create(struct metrics *metrics,
                                           const struct strategy_list *list);
void cost_counters_destroy(struct cost_counters *counters); /* NULL is allowed */

/* Charges what this thread has counted since its last charge, for that many orders. */
void cost_charge(const struct services *services, const struct strategy *strategy,
                 enum cost_outcome end, int orders);

/* The buys of one batch, by outcome. */
struct cost_outcomes {
    int ends[COST_OUTCOMES];
};
/* Adds one buy; what is not decided yet, or not a yes or a no, is COST_OTHER. */
void cost_count_buy(struct cost_outcomes *count, enum order_outcome outcome);
/* Charges to the first outcome that has orders (committed, accepted, refused), and returns it. */
enum cost_outcome cost_charge_outcomes(const struct services *services,
                                       const struct strategy *strategy,
                                       const struct cost_outcomes *count);

#endif
