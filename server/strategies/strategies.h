/* The strategies' rows, declared from the list (strategies.def), and each defined in its file. */
#ifndef SECKILL_STRATEGIES_STRATEGIES_H
#define SECKILL_STRATEGIES_STRATEGIES_H

#include "strategy/strategy.h"

/* Where PostgreSQL's row is what orders queue for: one works, and the next one stands at the row
 * already, so that its way there costs nobody's time. More would only wake each other: with four
 * `conditional` made 0.74 of this, and `pessimistic` 0.69 (docs/lab/RUNS.md). */
#define LANE_OF_A_ROW {.in_flight_per_product = 2, .workers = 16, .max_batch = 1}

#define STRATEGY(symbol, file) extern const struct strategy strategy_##symbol;
#define CONTROL                STRATEGY
#define BENCH                  STRATEGY
#include "strategies/strategies.def"

#endif
