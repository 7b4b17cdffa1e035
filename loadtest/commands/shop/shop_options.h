/* The options of `shop`. */
#ifndef SECKILL_LOADTEST_COMMANDS_SHOP_OPTIONS_H
#define SECKILL_LOADTEST_COMMANDS_SHOP_OPTIONS_H

#include "loadtest/base/options.h"

struct shop_options {
    struct options shared; /* of which it takes its word, the target, and seed and out */
    int64_t connections;
    int64_t buyers;     /* 0: by the stock */
    int64_t rate_per_s; /* 0: a closed loop */
    enum arrivals_kind arrivals;
    int64_t max_lag_ms, duration_s;
    int64_t timeout_s;
    const char *ca_file;         /* "": the system's */
    const char *judge;           /* a ledger; "": none, it loads */
    const char *fail_if, *junit; /* "": none */
};

/* Leads to the next command's (command_line.h). */
extern const struct option_table option_table_shop;

/* Refuses flags that do not go together. */
bool shop_options_settle(const struct shop_options *options, const struct option_given *given,
                         struct error *error);

#endif
