/*
 * Entries that stay in the history because another transaction holds a lock that they need: what
 * they wait for, and how far behind the last of them stands.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_PUT_OFF_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_PUT_OFF_H

#include "strategies/redis_stock/writer/stock_stream.h"

enum { PUT_OFF_PRODUCTS = 64 };

struct stock_put_off {
    int count;
    int64_t products[PUT_OFF_PRODUCTS]; /* their rows */
    bool others; /* too: the array is full, or the row is not what they wait for */
    char last[STOCK_ENTRY_MAX];
};

void stock_put_off_clear(struct stock_put_off *put_off);
bool stock_put_off_is_empty(const struct stock_put_off *put_off);
/* Removes from a part that was written the entries that wait: all of an entry is acknowledged at
 * once.
 */
void stock_put_off_take(struct stock_put_off *put_off, struct stock_part *part);

#endif
