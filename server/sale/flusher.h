/*
 * Early release (of locks): orders are committed without waiting for the log, and answered once a
 * later commit has waited for it.
 *
 * A commit under synchronous_commit=off lets go of its locks, in PostgreSQL or elsewhere, before
 * the disk has answered, so that the next buyer of the product need not wait for it. The log is one
 * sequence: a commit that waits for its flush, here and on the synchronous standby if there is one,
 * has waited for every commit before it. So the flusher, a thread with a session of its own, makes
 * one such commit for all orders that were parked before it began. With --standbys it counts who
 * has flushed it, too (pg_flush_log).
 *
 * Happy path: a worker has a ticket (flusher_ticket) before it reads and commits; the decided
 * orders are parked; the flusher flushes once and completes all that are parked. While it does,
 * others park: they are the next. No timer.
 *
 * What a flush has covered is remembered, row by row (proven.h): a refusal over a row that nobody
 * has written since waits for none. Answers that rest on an order's row or on buckets wait all the
 * same.
 *
 * No answer may rest on such a commit before it is flushed. product.early marks a sale that has
 * such commits, and is committed, with a flush, before the first of them (drive/early_release.c);
 * refusals, replays and repeats that were decided by its rows are parked as well, whatever their
 * own flush is, in every instance. Reads of orders (catalog.h) wait with pg_flush_reads.
 *
 * Failure modes:
 * - PostgreSQL crashes between a commit and its flush: the flusher's session has ended with all
 *   others, and a later one proves nothing about what was before it. Tickets name the session that
 *   was open, and with the same run of the same server, when they were given; without that session
 *   an order's commit is unknown, and settled as one whose reply was lost (settle.h). An answer
 *   that only read is BACKEND_UNAVAILABLE, or OUTCOME_UNKNOWN where it would have told of an order.
 * - The flush takes longer than the time for work, as it does while a standby is gone: the same.
 * - There is no session, or a pooler is in between, or --pg-sessions is below 8: no tickets.
 * Commits wait themselves.
 *
 * Sources: DeWitt et al., "Implementation Techniques for Main Memory Database Systems", SIGMOD 1984
 * (pre-commit); Johnson et al., "Aether: A Scalable Approach to Logging", VLDB 2010 (early lock
 * release); PostgreSQL documentation, "Asynchronous Commit".
 */
#ifndef SECKILL_SALE_FLUSHER_H
#define SECKILL_SALE_FLUSHER_H

#include "strategy/session.h"

struct flusher;

/* No thread and no session yet. NULL: no memory. */
struct flusher *flusher_create(const struct services *services);
void flusher_destroy(struct flusher *flusher); /* stopped, or never started; NULL is allowed */

/* Dispatch's side. `complete` is called by the flusher's thread. A stop answers all that is parked;
 * after the last worker has ended. */
bool flusher_start(struct flusher *flusher, void (*complete)(void *context, struct order *list),
                   void *context);
void flusher_stop(struct flusher *flusher);

/* A ticket for the session's reads and commits from now on. 0: nothing will prove its flush.
 * `wanted`: the flusher should have a session to the same server soon. Any thread. */
unsigned flusher_ticket(struct flusher *flusher, const struct pg *pg, bool wanted);
/* Whether nobody waits for a flush. Any thread. */
bool flusher_rests(struct flusher *flusher);
/* Whether a decided order is a refusal over a row of which an earlier flush has proven all that the
 * order has read, with this ticket: it need not be parked. Any thread. */
bool flusher_has_covered(struct flusher *flusher, const struct order *order, unsigned ticket);
/* Decided orders, each with its ticket; they are the flusher's from now on. Any thread. */
void flusher_park(struct flusher *flusher, struct order *list);

/* The outcome of a decided order becomes what may be said while its flush is not proven: UNSETTLED
 * where it was sold, OUTCOME_UNKNOWN where it would tell of an order, else BACKEND_UNAVAILABLE. */
void flusher_doubt(struct order *order);

#endif
