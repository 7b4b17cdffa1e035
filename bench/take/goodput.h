/*
 * Goodput under overload: what a strategy still commits while it is offered several times the load
 * that saturates it. Peaks and overloads take turns, a peak first and last, and each figure is the
 * mean of its phases, because machines drift. The peak is wrk's; the overload comes from the
 * open-loop generator, which does not slow down when the server does, over so many connections that
 * the server's own queues fill and it must refuse. Only what was answered within the offered time,
 * and after its lead, counts. Where the generator could not keep its schedule there is no figure,
 * and the series says so: an overload that was never offered would look like one that was borne.
 */
#ifndef SECKILL_BENCH_TAKE_GOODPUT_H
#define SECKILL_BENCH_TAKE_GOODPUT_H

#include "loadtest/phase/phase.h"

/* More than the orders that a server lets wait (--queue-capacity), and as many as it lets in. */
enum { GOODPUT_CONNECTIONS = 12000, GOODPUT_CYCLES = 2, GOODPUT_PHASES = 2 * GOODPUT_CYCLES + 1 };

struct goodput {
    double peak_per_s;
    enum usage_limit limit;  /* of the last peak */
    double overloaded_per_s; /* committed when `times` the peak was offered */
    bool late; /* there are no figures because the generator was late, and for no other reason */
};

/* The overload beside a peak of `plan`: twice as long, after a lead as long as the peak. */
struct phase_plan goodput_overload(const struct phase_plan *plan, double rate_per_s,
                                   int64_t connections);

/* `plan` is that of a speed phase by wrk (strategy, connections, threads, duration, products,
 * seed), with its max_lag_ms for the overload. GOODPUT_PHASES phases, audited like any; each sells
 * the next plan->products products, so that it has no rows of another to wait for. False when one
 * of them was no run (the generator was late, the books do not agree) or its promise was not kept.
 */
bool goodput_measure(const struct fleet *fleet, const struct phase_plan *plan, int times,
                     int64_t overload_connections, struct goodput *out, struct error *error);

#endif
