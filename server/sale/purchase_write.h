/* Writing one buy: the stock's new figure, the user's limit, the order's row, COMMIT. */
#ifndef SECKILL_SALE_PURCHASE_WRITE_H
#define SECKILL_SALE_PURCHASE_WRITE_H

#include "sale/purchase.h"

/* After the stock was written under `row->epoch`: the user's limit, the order's row, COMMIT. */
void purchase_finish(struct session *session, struct order *order, const struct product_row *row);

/* Writes the absolute figure that plain bodies write, if the sale is still that of `row` and the
 * hold's fence, where it has one, still the newest. */
bool purchase_set_stock(struct session *session, struct order *order, const struct product_row *row,
                        int64_t stock);
/* purchase_set_stock and purchase_finish, together in one round trip if that fits the order. */
void purchase_write(struct session *session, struct order *order, const struct product_row *row);

#endif
