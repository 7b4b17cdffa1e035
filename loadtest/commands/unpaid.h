/*
 * `run --scenario unpaid`: buyers of whom some never pay, and some when it may be too late.
 *
 * Happy path, for each number of instances and each strategy: a product is put on sale, a crowd
 * buys for --duration, and the witness counts the rows all the while: each unit is in the stock,
 * sold or held. A buyer buys one unit with a hold of a second, and then pays at once, or when the
 * hold ends, or never. It has two connections: it buys on the first, and pays on the second, which
 * is another instance's where there is one. Then what is held ends, and the rows are counted once
 * more: nothing is held, and what was sold is what buyers were told that they had paid.
 *
 * Failure modes: a server that dies, a hold that nobody ends and Ctrl-C end the run; the sales that
 * were over by then are written.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_UNPAID_H
#define SECKILL_LOADTEST_COMMANDS_UNPAID_H

#include "loadtest/commands/harness.h"

/* Above the lines. */
void unpaid_print_titles(FILE *to);

/* One strategy's sale on the fleet that is open: its line, and its element of the runs. */
bool unpaid_sell(struct harness *harness, const struct api_strategy *strategy, struct error *error);

extern const struct results_csv unpaid_csv;

#endif
