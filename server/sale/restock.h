/* The restock of every strategy that has none of its own. */
#ifndef SECKILL_SALE_RESTOCK_H
#define SECKILL_SALE_RESTOCK_H

#include "sale/purchase.h"

/* Adds the order's units to the product's row, whatever the figure there is, and writes the
 * restock's row, in one transaction; under the hold's fence, if it has one. True: this call has
 * added them. */
bool purchase_restock(struct session *session, struct order *order);

/* After the stock was written under `epoch`: the restock's row, COMMIT. True: it is committed. */
bool purchase_restock_finish(struct session *session, struct order *order, int64_t epoch);

#endif
