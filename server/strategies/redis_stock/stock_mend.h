/*
 * Products whose mirrors could not be told of a commit, a PUT or units that have come back, because
 * Redis was not to be reached: the writer unloads them as soon as it is. Any thread.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_MEND_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_MEND_H

#include <stdbool.h>
#include <stdint.h>

enum { MEND_MAX = 256 };

/* False: there are too many. What is noted already is not noted twice. */
bool stock_mend_note(int64_t product_id);
/* All of them, and the list is empty; how many. */
int stock_mend_take(int64_t products[MEND_MAX]);

#endif
