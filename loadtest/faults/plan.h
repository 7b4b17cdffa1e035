/*
 * When a fault is made in one run: follows from the fault's settings and the seed alone, so the
 * same seed gives the same schedule on every machine.
 */
#ifndef SECKILL_LOADTEST_FAULTS_PLAN_H
#define SECKILL_LOADTEST_FAULTS_PLAN_H

#include "loadtest/faults/fault.h"

struct fault_plan {
    struct fault_event events[FAULT_EVENTS_MAX]; /* one after the other, never two at once */
    size_t count;
    int64_t duration_us; /* of the load */
};

void fault_plan_make(struct fault_plan *out, const struct fault_settings *settings,
                     size_t instances, int64_t seed);

#endif
