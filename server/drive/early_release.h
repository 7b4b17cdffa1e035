/*
 * Early release (sale/flusher.h): what the drive does around a batch whose commits let go of their
 * locks before they are flushed.
 *
 * Happy path: before it, a ticket of the flusher, and the mark in the rows of the sales that some
 * of its commits may yet be undone; after it, the orders that were decided so are parked.
 *
 * Failure modes: without a ticket or a mark every commit waits for its own flush. An answer that
 * only read may rest on early commits all the same, and is flushed here, or doubted. With
 * --standbys a sale is parked, or flushed here, though it has flushed itself: its standbys are
 * still to be counted.
 */
#ifndef SECKILL_DRIVE_EARLY_RELEASE_H
#define SECKILL_DRIVE_EARLY_RELEASE_H

#include "strategy/session.h"

/* Makes sure of a session, and fills session->early: the batch's commits are early where somebody
 * asks for it, and it can be proven later. False: there is no session. */
bool early_release_connect(struct session *session, const struct batch *batch);
/* Takes the decided orders whose flush is still to come out of the batch, and parks them. */
void early_release_park(struct session *session, struct batch *batch);

#endif
