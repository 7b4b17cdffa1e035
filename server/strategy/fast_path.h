/*
 * What the process has seen of products: the sale (its epoch), and whether one statement can sell
 * it.
 *
 * One statement that decides, writes and commits names the epoch that was seen before it was sent.
 * So it may arrive late, when its order was settled long ago as not done, and even after a PUT
 * whose purge has deleted that order's tombstone: it matches no row then. Which sale is the present
 * one, the row alone knows. An epoch that is out of date here costs a statement that matches no
 * row, after which the row is read.
 *
 * One statement cannot sell where there is a limit, or too little left; then it matches no row, and
 * has cost a round trip. So that is remembered, to try in vain once and not every time. A hint:
 * whoever follows a wrong one pays a round trip more, or takes the longer way. Any thread.
 */
#ifndef SECKILL_STRATEGY_FAST_PATH_H
#define SECKILL_STRATEGY_FAST_PATH_H

#include <stdbool.h>
#include <stdint.h>

/* `epoch` was read from the product's row, now or earlier. */
void suited_note(int64_t product_id, int64_t epoch, bool suited);
/* The same, where nothing is known but the epoch: of a new sale one statement is tried. */
void suited_note_epoch(int64_t product_id, int64_t epoch);
/* 0: not seen, or forgotten for another product. */
int64_t suited_epoch(int64_t product_id);
/* True, too, of a product that was never noted, or of which the epoch alone was. */
bool suited_is(int64_t product_id);

#endif
