/* The strategies' rows, declared from the list (strategies.def), and each defined in its file. */
#ifndef SECKILL_STRATEGIES_STRATEGIES_H
#define SECKILL_STRATEGIES_STRATEGIES_H

#include "strategy/strategy.h"

#define STRATEGY(symbol, file) extern const struct strategy strategy_##symbol;
#define CONTROL                STRATEGY
#define BENCH                  STRATEGY
#include "strategies/strategies.def"

#endif
