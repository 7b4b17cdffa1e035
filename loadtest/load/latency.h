/*
 * Latencies, in the steps of a histogram: whatever is read from them is the end of a step, so it is
 * never less than the truth and at most 6.25 % more. The largest is kept exactly.
 */
#ifndef SECKILL_LOADTEST_LOAD_LATENCY_H
#define SECKILL_LOADTEST_LOAD_LATENCY_H

#include "loadtest/load/histogram.h"

struct latency {
    int64_t steps[HISTOGRAM_STEPS];
    int64_t count, max_us;
};

struct latency_figures {
    int64_t count, p50_us, p90_us, p99_us, p999_us, max_us; /* 0 without a single one */
};

void latency_add(struct latency *latency, int64_t us);
void latency_merge(struct latency *sum, const struct latency *one);

/* The least figure that `share` (0.99) of them do not exceed. */
int64_t latency_quantile_us(const struct latency *latency, double share);
struct latency_figures latency_read(const struct latency *latency);

#endif
