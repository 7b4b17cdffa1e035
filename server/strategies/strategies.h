/* The strategies' rows, declared from the list (strategies.def), each defined in its file; and the
 * registry, which GET /strategies, --help, the tests and the harness walk. */
#ifndef SECKILL_STRATEGIES_STRATEGIES_H
#define SECKILL_STRATEGIES_STRATEGIES_H

#include "strategy/strategy.h"

/* Where PostgreSQL's row is what orders queue for: one works, and the next one stands at the row
 * already, so that its way there costs nobody's time. More would only wake each other: with four
 * `conditional` made 0.74 of this, and `pessimistic` 0.69 (docs/PERFORMANCE.md). */
#define LANE_OF_A_ROW          .lane = {.in_flight_per_product = 2, .workers = 16, .max_batch = 1}

#define STRATEGY(symbol, file) extern const struct strategy strategy_##symbol;
#define CONTROL                STRATEGY
#define BENCH                  STRATEGY
#include "strategies/strategies.def"

extern const struct strategy_list strategy_list;

size_t strategy_count(void); /* of those that are offered */
size_t strategy_total(void);
const struct strategy *strategy_at(size_t index);
const struct strategy *strategy_find(const char *name); /* NULL: no such strategy */
size_t strategy_index(const struct strategy *strategy);

/* Whose cancel serves an order of this strategy while its own backend is gone: PostgreSQL's row
 * lock is enough where strategies mix. NULL: nobody's, or it needs PostgreSQL alone. */
const struct strategy *strategy_stand_in(const struct strategy *strategy);

#endif
