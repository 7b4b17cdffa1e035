/*
 * Latencies, in the steps of a log-linear histogram of microseconds, 16 steps per power of two:
 * whatever is read from them is the end of a step, so it is never less than the truth and at most
 * 6.25 % more. The largest is kept exactly.
 *
 * A step ends at a whole number of microseconds and includes it: step 0 holds 0 and 1, steps 1 to
 * 15 one number each, and from then on each step's width is a sixteenth of its power of two. The
 * last step holds whatever took longer than 2^32 us (71 minutes) and has no end.
 */
#ifndef SECKILL_LOADTEST_LOAD_LATENCY_H
#define SECKILL_LOADTEST_LOAD_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { HISTOGRAM_STEPS_PER_POWER = 16, HISTOGRAM_STEPS = 29 * HISTOGRAM_STEPS_PER_POWER + 1 };

size_t histogram_step(int64_t us);

/* The greatest number that the step holds; INT64_MAX for the last. */
int64_t histogram_step_end(size_t step);

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

/* A whole histogram as a text, "1024:3 1088:17": 3 took up to 1024 us, 17 more up to 1088, each an
 * end of a step; the last is the largest latency where that is less. "" of none. */
void latency_write(FILE *to, const struct latency *latency);
/* Adds what such a text says. False, with some of it perhaps added, when it is none. */
bool latency_parse(const char *text, struct latency *out);

#endif
