/*
 * Makes a schedule happen while the load goes on: begins and heals the fault at its times and
 * writes down when it did. It heals what it began, also when it is told to stop or a step fails:
 * nothing stays broken behind it.
 *
 * It works in the thread that calls it, which must outlive the servers: the kernel ends a child
 * when the thread that started it ends (process.h), and healing may mean starting a server.
 */
#ifndef SECKILL_LOADTEST_FAULTS_NEMESIS_H
#define SECKILL_LOADTEST_FAULTS_NEMESIS_H

#include "loadtest/faults/plan.h"

#include <stdatomic.h>

struct nemesis {
    const struct fault *fault; /* borrowed, as the two below */
    const struct fault_plan *plan;
    struct fault_site *site;
    int64_t start_us; /* of the load, by the monotonic clock */
    struct fault_interval intervals[FAULT_EVENTS_MAX];
    size_t count;          /* of the intervals; the thread's until nemesis_join */
    _Atomic bool stopping; /* any thread may set it */
};

/* Comes back at the end of the schedule, or early when it is stopped or interrupted. False: a step
 * failed. */
bool nemesis_run(struct nemesis *nemesis, struct error *error);

#endif
