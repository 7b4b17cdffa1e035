/* The options of `run`. */
#ifndef SECKILL_LOADTEST_COMMANDS_RUN_OPTIONS_H
#define SECKILL_LOADTEST_COMMANDS_RUN_OPTIONS_H

#include "loadtest/base/options.h"

struct run_options {
    struct options shared;
    struct option_list strategies; /* one item "all": every available one */
    int64_t surge;
    struct option_texts header;
    enum options_format format; /* what goes to stdout */
    bool wide;
    const char *fail_if, *junit; /* "": none */
};

/* Also what other commands take of the same. Leads to the next command's (command_line.h). */
extern const struct option_table option_table_run;

bool run_options_settle(struct run_options *options, const struct option_given *given,
                        struct error *error);

#endif
