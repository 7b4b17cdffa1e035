/*
 * Commits that get ahead of their flush (sale/flusher.h): what the drive does for them around a
 * batch.
 *
 * Happy path: before it, a ticket of the flusher, and the mark in the rows of the sales that some
 * of its commits may yet be undone; after it, the orders that were decided so are parked.
 *
 * Failure modes: without a ticket or a mark every commit waits for its own flush. What was only
 * read may be ahead all the same, and is flushed here, or doubted.
 */
#ifndef SECKILL_DRIVE_AHEAD_H
#define SECKILL_DRIVE_AHEAD_H

#include "strategy/session.h"

/* Makes sure of a session, and says by session->early whether the batch's commits get ahead: where
 * somebody asks for it, and it can be proven later. False: there is no session. */
bool ahead_connect(struct session *session, const struct batch *batch);
/* Takes the decided orders whose flush is still to come out of the batch, and parks them. */
void ahead_park(struct session *session, struct batch *batch);

#endif
