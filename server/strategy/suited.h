/*
 * Which products one statement can sell.
 *
 * It cannot where there is a limit, or too little left; then it matches no row, and has cost a
 * round trip. So the process remembers some of the products that it has seen, to try in vain once
 * and not every time. A hint: whoever follows a wrong one pays a round trip more, or takes the
 * longer way. Any thread.
 */
#ifndef SECKILL_STRATEGY_SUITED_H
#define SECKILL_STRATEGY_SUITED_H

#include <stdbool.h>
#include <stdint.h>

void suited_note(int64_t product_id, bool suited);
/* True, too, of a product that was never noted. */
bool suited_is(int64_t product_id);

#endif
