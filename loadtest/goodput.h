/*
 * Goodput under overload: what a strategy still commits while it is offered twice, and ten times,
 * the load that saturates it. The peak is wrk's; the overload comes from the open-loop generator,
 * which does not slow down when the server does, over so many connections that the server's own
 * queues fill and it must refuse. Only what was answered within the offered time counts.
 */
#ifndef SECKILL_LOADTEST_GOODPUT_H
#define SECKILL_LOADTEST_GOODPUT_H

#include "loadtest/phase.h"

/* More than the orders that a server lets wait (--queue-capacity), and as many as it lets in. */
enum { GOODPUT_CONNECTIONS = 12000 };

struct goodput {
    double peak_per_s;
    double twice_per_s, tenfold_per_s; /* committed at 2 and at 10 times the peak */
};

/* `plan` is that of a speed phase by wrk (strategy, connections, threads, duration, products,
 * seed), with its max_lag_ms for the overload. Three phases, audited like any; false when one of
 * them was no run (the generator was late, the books do not agree) or its promise was not kept. */
bool goodput_measure(const struct fleet *fleet, const struct phase_plan *plan,
                     int64_t overload_connections, struct goodput *out, struct problem *problem);

/* One of its phases: the plan at `rate_per_s` over so many connections; *committed_per_s gets what
 * was committed in time. */
bool goodput_at(const struct fleet *fleet, const struct phase_plan *plan, double rate_per_s,
                int64_t connections, double *committed_per_s, struct problem *problem);

#endif
