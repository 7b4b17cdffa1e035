/* The options of `record`. */
#ifndef SECKILL_LOADTEST_COMMANDS_RECORD_OPTIONS_H
#define SECKILL_LOADTEST_COMMANDS_RECORD_OPTIONS_H

#include "loadtest/base/options.h"

struct record_options {
    struct options shared;
    const char *strategy;                   /* what sells, and how it is bought */
    int64_t operations;                     /* 0: any number */
    int64_t holds, hold_s, paid, paid_late; /* percents, and seconds */
};

/* Leads to the next command's (command_line.h). */
extern const struct option_table option_table_record;

bool record_options_settle(struct record_options *options, struct error *error);

#endif
