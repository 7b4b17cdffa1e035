/*
 * What a run sold and when, from its ledger: sales a tenth of a second, and the times without one.
 * A sale is a buy that was answered with success, when it was answered.
 */
#ifndef SECKILL_LOADTEST_FAULTS_SALES_H
#define SECKILL_LOADTEST_FAULTS_SALES_H

#include "loadtest/faults/fault.h"

enum { SALES_STEPS_MAX = 600, SALES_STEP_US = 100000 };

struct sales {
    int steps[SALES_STEPS_MAX]; /* sales in each */
    size_t count;
    struct fault_interval shades[FAULT_EVENTS_MAX]; /* from the start */
    size_t shades_count;
    int64_t sold;
    int64_t longest_gap_us; /* within the load */
    int64_t first_after_us; /* the longest that the first sale after a heal took; -1: none came */
};

/* `start_us` and `end_us`: of the load. */
void sales_look(struct sales *out, const struct ledger *ledger, int64_t start_us, int64_t end_us,
                const struct fault_interval *intervals, size_t count);

#endif
