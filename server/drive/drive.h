/*
 * The drive: everything around a strategy's `sell`, once.
 *
 * A worker with one order in hand calls drive_enter; when that answers true it makes its batch and
 * calls drive_sell until nothing is left of it; while drive_keeps says so it may bring more;
 * drive_leave ends it. Afterwards every order has a final outcome, but for those that the strategy
 * has parked: they are not in the batch any more, and nobody here may touch them. Nothing here
 * waits without a deadline of the orders themselves.
 */
#ifndef SECKILL_DRIVE_DRIVE_H
#define SECKILL_DRIVE_DRIVE_H

#include "strategy/session.h"

struct drive;

/* Registers the strategies' metrics, which are all that it has. NULL when out of memory. */
struct drive *drive_create(struct metrics *metrics);
void drive_destroy(struct drive *drive); /* NULL is allowed */

/* Connects, and acquires the strategy's lock on behalf of `first`, within its own wait. False:
 * `first` is decided and nothing is held. */
bool drive_enter(struct session *session, const struct strategy *strategy, struct order *first);

/* One attempt at every order of the batch. Leaves in it those that are decided, which need not wait
 * for the others nor for a flush, and returns those that are to be tried again: by the next call,
 * which pauses first. What the strategy or the flusher has is in neither. */
struct order *drive_sell(const struct drive *drive, struct session *session,
                         const struct strategy *strategy, struct batch *batch);

/* May another batch be brought under what is held now? */
bool drive_keeps(const struct session *session, const struct strategy *strategy);

void drive_leave(const struct drive *drive, struct session *session,
                 const struct strategy *strategy);

#endif
