/*
 * The costs of a thread: statements, round trips, flushes and bytes, counted where they are sent
 * and received, and charged to strategies by strategy/cost_accounting.h.
 *
 * The counters are plain numbers of the thread, so counting costs an addition and no lock. A
 * session belongs to one thread, and so do its costs, whichever of a worker's connections causes
 * them. The costs of opening a session are left out: they belong to no order.
 */
#ifndef SECKILL_METRICS_COST_H
#define SECKILL_METRICS_COST_H

#include <stdint.h>

enum cost_store { COST_POSTGRESQL, COST_REDIS, COST_STORES };

enum cost_measure {
    COST_STATEMENTS, /* BEGIN and COMMIT among them; a command of Redis, or a script */
    COST_ROUND_TRIPS,
    COST_FLUSHES, /* answers that had to wait until something was on disk */
    COST_BYTES,   /* sent and received, as the protocol has them */
    COST_MEASURES
};

struct cost {
    uint64_t of[COST_MEASURES];
};

extern _Thread_local struct cost cost_of_thread[COST_STORES];

static inline void cost_add(enum cost_store store, enum cost_measure measure, uint64_t n)
{
    cost_of_thread[store].of[measure] += n;
}

/* The costs of this thread since the last call; sets them to 0. */
static inline struct cost cost_take(enum cost_store store)
{
    struct cost cost = cost_of_thread[store];

    cost_of_thread[store] = (struct cost){{0}};
    return cost;
}

#endif
