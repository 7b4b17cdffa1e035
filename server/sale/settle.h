/*
 * Settling: what became of an order whose attempt did not end with a plain answer.
 *
 * UNSETTLED (a commit was sent, its reply lost): a tombstone with the order's id is inserted. The
 * insert waits for a twin that is still running, and then either finds the order, which was
 * committed, or takes the id, so that a twin that arrives late fails on it. Looking with a SELECT
 * would miss a twin still in progress; an insert rolled back afterwards would miss one that has not
 * begun.
 *
 * A cancel needs no tombstone: its transaction has locked the order's row before the COMMIT is
 * sent. A locking read of that row waits for it, and sees what it left. A cancel that was not
 * committed is made again while its wait lasts.
 *
 * Where PostgreSQL waits for a synchronous standby what can be read may be committed here alone,
 * when somebody cancelled that wait or the server was started anew in it. So whoever settles makes
 * a commit of their own that wrote something: the log is one sequence, and a standby that has this
 * commit has the earlier one.
 *
 * A refusal of an order with an Idempotency-Key: a first order with that key is looked up before
 * the refusal may stand, so that a repeat after sell-out gets its order and not "sold out".
 */
#ifndef SECKILL_SALE_SETTLE_H
#define SECKILL_SALE_SETTLE_H

#include "strategy/session.h"

/* Leaves no order UNSETTLED or KEY_TAKEN. False when some commit's fate had to be left unknown. */
bool settle_batch(struct session *session, struct batch *batch);

#endif
