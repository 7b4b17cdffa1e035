/*
 * Proofs of flushes: for a product the newest state of its row that one of the flusher's flushes
 * has covered, so that a reader of no newer one need not wait for another.
 *
 * Happy path: the last unit is sold, and the first refusal over it waits for a flush (flusher.h);
 * the others rest on the same row and are answered at once, until somebody writes it.
 *
 * Failure modes:
 * - Another session of the flusher's has another ticket, which nothing that is here fits: after a
 *   failover the row may have come to the same version by other sales.
 * - Two products have one place here: the one that was there costs another flush.
 *
 * No I/O and no thread; the flusher's mutex guards it.
 */
#ifndef SECKILL_SALE_PROVEN_H
#define SECKILL_SALE_PROVEN_H

#include "order/order.h"

struct proven;

struct proven *proven_create(void);         /* NULL when out of memory */
void proven_destroy(struct proven *proven); /* NULL is allowed */

/* A flush of the session with this ticket, later than any that was noted before, has covered the
 * row; it began at `begun_us`. */
void proven_note(struct proven *proven, int64_t product_id, struct product_version seen,
                 unsigned ticket, int64_t begun_us);
/* When the last flush began that has covered the row for that ticket; 0: none has. */
int64_t proven_since_us(const struct proven *proven, int64_t product_id,
                        struct product_version seen, unsigned ticket);

#endif
