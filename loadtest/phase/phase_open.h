/*
 * A phase's load made by the open-loop generator: what wrk would have been asked for, at the plan's
 * rate instead of as fast as the servers answer. The bell scenario's sale opens by PostgreSQL's
 * clock when its schedule comes to the bell.
 */
#ifndef SECKILL_LOADTEST_PHASE_PHASE_OPEN_H
#define SECKILL_LOADTEST_PHASE_PHASE_OPEN_H

#include "loadtest/phase/phase.h"

/* The parts of the bell scenario: a fifth of the time at the rate before the sale opens, three
 * tenths at `surge` times the rate, the rest at the rate again. Of all others: one, after its lead
 * if it has one. */
void phase_open_schedule(const struct phase_plan *plan, int64_t duration_us,
                         struct arrivals_plan *out);

/* Adds to result->open; `figures` gets what wrk would have said of it. */
bool phase_open_load(const struct fleet *fleet, const struct wrk_load *load,
                     struct phase_result *result, struct wrk_result *figures, struct error *error);

/* False, with the reason, when the generator was late: its figures are not the servers'. */
bool phase_open_in_time(const struct phase_result *result, struct error *error);

#endif
