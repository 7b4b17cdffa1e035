/*
 * How a phase's sale is opened, and the schedule of its load where that has a rate. The bell
 * scenario's sale opens by PostgreSQL's clock when its schedule comes to the bell.
 */
#ifndef SECKILL_LOADTEST_PHASE_PHASE_OPEN_H
#define SECKILL_LOADTEST_PHASE_PHASE_OPEN_H

#include "loadtest/phase/phase.h"

/* Of all its products. `opens_at` NULL: at once; `epoch` gets the last one's. */
bool phase_put_on_sale(const struct fleet *fleet, const struct phase_plan *plan,
                       const char *opens_at, int64_t *epoch, struct error *error);

/* The parts of the bell scenario: a fifth of the time at the rate before the sale opens, three
 * tenths at `surge` times the rate, the rest at the rate again. Of all others: one, after its lead
 * if it has one. */
void phase_open_plan(const struct phase_plan *plan, int64_t duration_us, struct arrivals_plan *out);

/* A sale that opens when the bell comes, `idle_us` after the schedule has begun. One that took
 * longer to announce than its schedule waits is announced again. */
bool phase_open_announce(const struct fleet *fleet, const struct phase_plan *plan, int64_t idle_us,
                         int64_t *start_us, struct error *error);

#endif
