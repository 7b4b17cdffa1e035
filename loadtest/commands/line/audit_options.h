/* The options of `audit`. */
#ifndef SECKILL_LOADTEST_COMMANDS_AUDIT_OPTIONS_H
#define SECKILL_LOADTEST_COMMANDS_AUDIT_OPTIONS_H

#include "loadtest/base/options.h"

struct audit_options {
    struct options shared; /* of which it takes database and schema */
    int64_t product;       /* 0: all */
};

extern const struct option_table option_table_audit;

#endif
