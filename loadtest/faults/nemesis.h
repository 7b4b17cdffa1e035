/*
 * Makes a schedule happen while the load goes on: a thread that begins and heals the fault at its
 * times and writes down when it did. It heals what it began, also when it is told to stop or a step
 * fails: nothing stays broken behind it.
 */
#ifndef SECKILL_LOADTEST_FAULTS_NEMESIS_H
#define SECKILL_LOADTEST_FAULTS_NEMESIS_H

#include "loadtest/faults/plan.h"

#include <pthread.h>
#include <stdatomic.h>

struct nemesis {
    const struct fault *fault; /* borrowed, as the two below */
    const struct fault_plan *plan;
    struct fault_site *site;
    int64_t start_us; /* of the load, by the monotonic clock */
    struct fault_interval intervals[FAULT_EVENTS_MAX];
    size_t count; /* of the intervals; the thread's until nemesis_join */
    struct error error;
    bool failed;
    pthread_t thread;
    _Atomic bool stopping;
};

/* False when there is no thread. */
bool nemesis_start(struct nemesis *nemesis, struct error *error);
/* Waits for the schedule's end, or with `stop` for what is under way alone. False: a step failed.
 */
bool nemesis_join(struct nemesis *nemesis, bool stop, struct error *error);

#endif
