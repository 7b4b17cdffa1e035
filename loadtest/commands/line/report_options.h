/* The options of `report`. */
#ifndef SECKILL_LOADTEST_COMMANDS_REPORT_OPTIONS_H
#define SECKILL_LOADTEST_COMMANDS_REPORT_OPTIONS_H

#include "loadtest/base/options.h"

struct report_options {
    struct options shared; /* of which it takes its words, folders of runs, and out */
    struct option_list strategies;
};

/* Leads to the next command's (command_line.h). */
extern const struct option_table option_table_report;

#endif
