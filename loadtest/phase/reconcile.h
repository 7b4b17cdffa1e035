/*
 * Whether the books agree: what the generator counted, what the servers' metrics counted, the rows
 * that PostgreSQL holds, and the server's own audit. Any disagreement beyond the orders that were
 * abandoned (wrk: at most one a connection and run; the open-loop generator knows how many) makes
 * the phase no run; a 2xx without its row is a violation and is told apart.
 */
#ifndef SECKILL_LOADTEST_PHASE_RECONCILE_H
#define SECKILL_LOADTEST_PHASE_RECONCILE_H

#include "loadtest/phase/phase.h"

/* `deltas`: what each instance of the fleet counted during the phase. Fills result->counts. */
bool reconcile_counts(const struct scrape *deltas, const struct fleet *fleet,
                      struct phase_result *result, struct error *error);

/* Audits with the witness and with the server. Fills result->audit. */
bool reconcile_audits(const struct fleet *fleet, struct phase_result *result, struct error *error);

/* The rows against the answers: sets audit.missing. False when there are more rows than answers
 * explain. */
bool reconcile_rows(const struct counts *counts, bool counter, struct books *audit,
                    struct error *error);

/* After a counted load: sets audit.undersold when fewer were served than the stock (or, where some
 * may be shed, the others' number) says. False when the experiment did not come to its end: calls
 * were shed that should not have been, or none that should. */
bool reconcile_expected(const struct counted *counted, const struct counts *counts, bool counter,
                        struct books *audit);

#endif
