/* The options of `check`. */
#ifndef SECKILL_LOADTEST_COMMANDS_CHECK_OPTIONS_H
#define SECKILL_LOADTEST_COMMANDS_CHECK_OPTIONS_H

#include "loadtest/base/options.h"

struct check_options {
    struct options shared; /* of which it takes its word, the ledger, and database and schema */
    const char *redis;     /* "": not looked at */
    const char *stock_redis;
    const char *system_name;
    int64_t show, exact;
};

extern const struct option_table option_table_check;

#endif
