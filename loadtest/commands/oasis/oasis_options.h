/* The options of `oasis`. */
#ifndef SECKILL_LOADTEST_COMMANDS_OASIS_OPTIONS_H
#define SECKILL_LOADTEST_COMMANDS_OASIS_OPTIONS_H

#include "loadtest/base/options.h"

struct oasis_options {
    struct options shared;
    const char *strategy;
    int64_t tickets; /* of all products together */
};

/* Leads to the next command's (command_line.h). */
extern const struct option_table option_table_oasis;

bool oasis_options_settle(struct oasis_options *options, struct error *error);

#endif
