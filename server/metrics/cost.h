/*
 * What the work of a thread costs the stores that it asks: counted where bytes are sent and
 * received, taken by whoever knows what the work was for (strategy/cost_accounting.h).
 *
 * The counters are the thread's own plain numbers, so counting costs an addition and no lock. A
 * session belongs to one thread, and so does all that it costs, whichever of a worker's
 * connections it goes through. What opening a session costs is no order's and left out.
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

/* What has come together in this thread since the last call; it begins at 0 again. */
static inline struct cost cost_take(enum cost_store store)
{
    struct cost cost = cost_of_thread[store];

    cost_of_thread[store] = (struct cost){{0}};
    return cost;
}

#endif
