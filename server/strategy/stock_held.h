/*
 * Rows that somebody else holds: when the writer waits for one, and how long.
 *
 * The writer passes by rows that are locked (tally_lock_free), so that a product whose row somebody
 * holds for seconds stands in no other product's way. Passing by alone would never get a row that
 * others lock in turns, because whoever waits in PostgreSQL's queue is first. So the writer waits
 * as well, for one row at a time, while nothing that it could decide waits behind it: at first for
 * a moment, after each time in vain twice as long and a while later, and never for more than a
 * fifth of its time. The writer's thread alone; no I/O.
 */
#ifndef SECKILL_STRATEGY_STOCK_HELD_H
#define SECKILL_STRATEGY_STOCK_HELD_H

#include <stdbool.h>
#include <stdint.h>

/* Was this row waited for in vain, and not had since? */
bool stock_held_is(int64_t product_id);
/* When the row may be waited for again, in clock_mono_us; 0: it was never waited for in vain. */
int64_t stock_held_due_us(int64_t product_id);
/* How long the row may be waited for now; 0: not now. */
int64_t stock_held_patience_us(int64_t product_id);

/* It was waited for that long, in vain; it was had. */
void stock_held_failed(int64_t product_id, int64_t patience_us);
void stock_held_got(int64_t product_id);

#endif
