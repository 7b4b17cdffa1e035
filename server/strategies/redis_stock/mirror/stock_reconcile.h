/*
 * The reconciler: proves that Redis's stock is PostgreSQL's less what is reserved, or makes it so.
 *
 * A round puts back what the stream has lost (stock_waiting_restore), and then looks at a few
 * loaded mirrors at a time. A difference that is still there while the row is locked, and stays for
 * as long as writers take to let go of what they have committed, is real: it is counted, and the
 * mirror is unloaded, for the next order to load. One from which nothing was ever reserved is not
 * counted: other strategies sell that product.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_RECONCILE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_RECONCILE_H

#include "strategies/redis_stock/mirror/stock_mirror.h"

struct stock_round {
    bool restored;                  /* what the stream has lost is put back */
    char entries[STOCK_NUMBER_MAX]; /* where that is */
    char cursor[STOCK_NUMBER_MAX];  /* "0" before and after all loaded products */
    int64_t products;               /* seen in this round */
    int64_t skipped;                /* of these, not at rest */
    int64_t drift;                  /* the sum of the differences, without their signs */
    int64_t rebuilt;
};

void stock_round_begin(struct stock_round *round);
/* Looks at the next few. *over, with STOCK_DONE: they were the last ones. */
enum stock_result stock_round_step(struct stock_link *link, struct stock_round *round, bool *over);

/* Whether the mirror is known to say what the row says: nothing is reserved, and the figures are
 * the same. */
bool stock_reconcile_agrees(struct stock_link *link, int64_t product_id);

#endif
