/*
 * The schedule of a phase's load that has a rate. The bell scenario's sale opens by PostgreSQL's
 * clock when its schedule comes to the bell.
 */
#ifndef SECKILL_LOADTEST_PHASE_PHASE_OPEN_H
#define SECKILL_LOADTEST_PHASE_PHASE_OPEN_H

#include "loadtest/phase/phase.h"

/* The parts of the bell scenario: a fifth of the time at the rate before the sale opens, three
 * tenths at `surge` times the rate, the rest at the rate again. Of all others: one, after its lead
 * if it has one. */
void phase_open_plan(const struct phase_plan *plan, int64_t duration_us, struct arrivals_plan *out);

/* A sale that opens when the bell comes, `idle_us` after the schedule has begun. One that took
 * longer to announce than its schedule waits is announced again. */
bool phase_open_announce(const struct fleet *fleet, const struct phase_plan *plan, int64_t idle_us,
                         int64_t *start_us, struct error *error);

/* False, with the reason, when the generator was late: its figures are not the servers'. */
bool phase_open_in_time(const struct phase_result *result, struct error *error);

#endif
