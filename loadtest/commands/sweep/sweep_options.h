/* The options of `sweep`. */
#ifndef SECKILL_LOADTEST_COMMANDS_SWEEP_OPTIONS_H
#define SECKILL_LOADTEST_COMMANDS_SWEEP_OPTIONS_H

#include "loadtest/base/options.h"

struct sweep_options {
    struct options shared;
    struct option_list strategies;
    const char *over;       /* NAME=1,2,4 */
    struct option_list set; /* NAME=1 */
    int64_t redis_delay_us; /* no flag: a dimension (sweep_plan.h); 0: none */
};

/* Leads to the next command's (command_line.h). */
extern const struct option_table option_table_sweep;

bool sweep_options_settle(struct sweep_options *options, struct error *error);

#endif
