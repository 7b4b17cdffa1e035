/*
 * What the Idempotency-Keys of a sale are worth when its load is over and everything is decided.
 *
 * Happy path: each sold order's row has a key; a hundred of these orders, chosen by the ends of
 * their ids, are sent once more with their key and body, to one instance after the other, and each
 * is answered 200 with the order of the row.
 *
 * Failure modes: a row without a key, another order, and a final no are violations. A server that
 * does not answer, or sheds an order for two seconds though nothing is under way, leaves it
 * unknown: the phase is no run. (A second row of one key is the audit's to find.)
 */
#ifndef SECKILL_LOADTEST_PHASE_REPEATS_H
#define SECKILL_LOADTEST_PHASE_REPEATS_H

#include "loadtest/phase/phase.h"

/* `path`: of the orders' requests. Adds to audit->unrepeatable. */
bool repeats_check(const struct fleet *fleet, const struct phase_plan *plan, const char *path,
                   struct books *audit, struct error *error);

#endif
