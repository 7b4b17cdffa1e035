/*
 * What this instance remembers of products sold by redis-stock: the epoch it last saw, and the
 * sold-out flag.
 *
 * The flag refuses orders without a lane or a round trip. It is a lease: a script that found
 * nothing left sets it for STOCK_LEASE_US from the moment the script was sent, and only another
 * script renews it. So whoever adds stock to the mirror and then waits one lease knows that no
 * instance refuses on old news, however many there are and whatever their clocks say.
 *
 * A direct-mapped table of fixed size: two products that share a slot forget each other, which
 * costs a round trip and nothing else. Any thread.
 */
#ifndef SECKILL_STRATEGY_STOCK_FLAG_H
#define SECKILL_STRATEGY_STOCK_FLAG_H

#include "order/order.h"

#include <stdbool.h>
#include <stdint.h>

#define STOCK_LEASE_US INT64_C(20000)

/* A script sent at `sent_us` found this. */
void stock_flag_note(int64_t product_id, int64_t epoch, bool sold_out, int64_t sent_us);
/* The epoch last seen; 0: none. */
int64_t stock_flag_epoch(int64_t product_id);
/* A strategy's refuse_now: a buy without a key, and nothing left. */
bool stock_flag_refuses(struct order *order);
/* Until every flag that was set before this call has lapsed, in every instance. */
void stock_flag_wait(void);
void stock_flag_reset(void);

#endif
