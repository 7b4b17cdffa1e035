/* What `bench` found, for the table and the files. */
#ifndef SECKILL_LOADTEST_BENCH_H
#define SECKILL_LOADTEST_BENCH_H

#include "loadtest/machine.h"
#include "loadtest/options.h"

#include <stddef.h>

enum { BENCH_STRATEGIES = 3, BENCH_CLIENT_COUNTS = 5, BENCH_ROUNDS_MAX = 1000 };

#define BENCH_TARGET 0.85

struct bench_row {
    const char *strategy;
    double trial[BENCH_CLIENT_COUNTS]; /* pgbench's orders/s at each client count, tried first */
    int clients;                       /* its best */
    double http[BENCH_ROUNDS_MAX], pgbench[BENCH_ROUNDS_MAX]; /* orders/s, a figure a round */
    size_t rounds;
};

/* Median, smallest and largest. */
struct bench_span {
    double median, least, most;
};
struct bench_span bench_span(const double *values, size_t count);

double bench_ratio(const struct bench_row *row);

bool bench_write_json(const char *folder, const struct bench_row *rows, size_t count,
                      const struct options *options, const struct machine *machine,
                      struct problem *problem);

extern const int bench_client_counts[BENCH_CLIENT_COUNTS];

#endif
