/* seckill-bench's command line: its own flags, and those about backends that the harness has. */
#ifndef SECKILL_BENCH_FLAGS_H
#define SECKILL_BENCH_FLAGS_H

#include "loadtest/base/options.h"

struct bench_options {
    struct options base;
    int64_t more_rounds;     /* for rows that are within noise, or with steal */
    int64_t max_steal;       /* percent of the time that the machine wanted its cores */
    int64_t max_wait_s;      /* in all, for less steal than that */
    bool full;               /* every row */
    struct option_list rows; /* these rows; none: those of the form */
    const char *standby;     /* a command that starts one; "" */
};

/* False with a text that names the flag and what it takes. */
bool bench_options_parse(struct bench_options *out, enum options_action *action, int argc,
                         char **argv, char *(*environment)(const char *), struct error *error);

void bench_options_print_help(FILE *to);

#endif
