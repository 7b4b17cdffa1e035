/* The options of `capacity`. */
#ifndef SECKILL_LOADTEST_COMMANDS_CAPACITY_OPTIONS_H
#define SECKILL_LOADTEST_COMMANDS_CAPACITY_OPTIONS_H

#include "loadtest/base/options.h"

struct capacity_options {
    struct options shared;
    const char *strategy, *slo;
    int64_t within_s;
};

/* Leads to the next command's (command_line.h). */
extern const struct option_table option_table_capacity;

bool capacity_options_settle(struct capacity_options *options, struct error *error);

#endif
