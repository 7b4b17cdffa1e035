/*
 * Workers: threads that take orders from a lane and drive its strategy over them.
 *
 * A worker starts when orders wait and nobody is free, and ends after ten seconds without any. Each
 * holds one session with PostgreSQL (and Redis); permits cap the sessions of the process over all
 * lanes. A worker whom PostgreSQL refuses a session gives his order back and ends, when another has
 * one; for a second no other is started. When a lane has orders and nobody can be started for it,
 * idle workers of other lanes come with their sessions, and if it has nobody at all a busy one does
 * after its batch. So where lanes with orders are more than permits, workers go round.
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

/* Starts what lanes[i] wants, as far as permits go. */
void workers_call(struct workers *workers, size_t i);

/* Waits until every worker has ended; the lanes must have been closed. Frees. NULL is allowed. */
void workers_destroy(struct workers *workers);

#endif
