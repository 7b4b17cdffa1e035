/*
 * Workers: threads that take orders from a lane and drive its strategy over them.
 *
 * A worker starts when orders wait and no worker is free, and ends after ten seconds without any.
 * Each holds one session with PostgreSQL (and Redis); permits cap the workers of the process over
 * all lanes. When a lane has orders and no worker can be started for it, workers of other lanes
 * come with their sessions: idle ones, and for a lane that has no worker also a busy one after its
 * batch. So workers go round when more lanes have orders than there are permits.
 */
#ifndef SECKILL_DISPATCH_WORKER_H
#define SECKILL_DISPATCH_WORKER_H

#include "dispatch/lane.h"
#include "strategy/strategy.h"

struct workers;

struct worker_lane {
    const struct strategy *strategy;
    struct lane *lane; /* owned: dispatch */
    int max_batch;
};

/* `complete` gets every order that a worker has decided. */
struct workers *workers_create(const struct services *services, struct worker_lane *lanes,
                               size_t count, int permits,
                               void (*complete)(void *context, struct order *list), void *context);

/* Starts the workers that lanes[i] misses, as far as permits go. */
void workers_call(struct workers *workers, size_t i);

/* Waits until every worker has ended; the lanes must have been closed. Frees. NULL is allowed. */
void workers_destroy(struct workers *workers);

#endif
