/*
 * What else happened while a phase was under load: nobody ordered it, no row of the sale tells of
 * it, and a figure or a verdict may be owed to it alone. It is looked at before the load and after
 * it, and a line under the table says it. What cannot be looked at is not said.
 */
#ifndef SECKILL_LOADTEST_PHASE_MEANWHILE_H
#define SECKILL_LOADTEST_PHASE_MEANWHILE_H

#include "loadtest/fleet/fleet.h"

struct meanwhile {
    bool old_snapshot;    /* somebody kept one from before the load until after it */
    int64_t evicted_keys; /* of the Redis servers together */
};

/* The state before the phase. */
struct meanwhile_mark {
    char oldest_held[WITNESS_NUMBER_SIZE];
    int64_t evicted_keys[FLEET_REDIS_MAX]; /* -1: that Redis could not be asked */
};

void meanwhile_begin(const struct fleet *fleet, struct meanwhile_mark *mark);
void meanwhile_end(const struct fleet *fleet, const struct meanwhile_mark *mark,
                   struct meanwhile *out);

#endif
