/*
 * The reconciler: proves that Redis's stock is PostgreSQL's less what is reserved, or makes it so.
 *
 * It looks at a few loaded mirrors at a time. A difference that is still there while the row is
 * locked and nothing of the product is reserved is real: it is counted, and the mirror is unloaded,
 * for the next order to load. One from which nothing was ever reserved is not counted: other
 * strategies sell that product. While orders of the product wait, or come in, it is left alone: the
 * figures move together then, but cannot be read together.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_RECONCILE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_RECONCILE_H

#include "strategies/redis_stock/mirror/stock_mirror.h"

struct stock_round {
    char cursor[STOCK_NUMBER_MAX]; /* "0" before and after a whole round */
    int64_t products;              /* seen in this round */
    int64_t skipped;               /* of these, not at rest */
    int64_t drift;                 /* the sum of the differences, without their signs */
    int64_t rebuilt;
};

void stock_round_begin(struct stock_round *round);
/* Looks at the next few. STOCK_DONE: the round is over when the cursor is "0" again. */
enum stock_result stock_round_step(struct stock_link *link, struct stock_round *round);

/* Whether the mirror is known to say what the row says: nothing is reserved, and the figures are
 * the same. */
bool stock_reconcile_agrees(struct stock_link *link, int64_t product_id);

#endif
