/* The cancel of one order, or the end of its hold, and the way back of its units to the stock. */
#ifndef SECKILL_SALE_PURCHASE_CANCEL_H
#define SECKILL_SALE_PURCHASE_CANCEL_H

#include "sale/purchase.h"

/* The one cancel: status by compare-and-set and stock + quantity, relative, in one transaction;
 * under the hold's fence, if it has one. An ORDER_EXPIRE is the same of a pending order whose time
 * is over, and leaves any other order as it is. True when this call has given the stock back, not
 * an earlier one. */
bool purchase_cancel(struct session *session, struct order *order);
/* The same with another way to give the stock back: it must leave one row affected and locked, the
 * same for every cancel of the order, or none when the sale is over. */
bool purchase_cancel_by(struct session *session, struct order *order,
                        enum pg_status (*return_stock)(struct session *, const struct order *,
                                                       int64_t epoch));
/* Its two steps, for a caller that has to lock something in between. The first reads the order,
 * outside of the transaction that cancels it, and answers false when that decides; the second
 * writes, as long as the order is what was read: so that its transaction is younger than what it
 * changes, as the feed tells it. */
bool purchase_cancel_look(struct session *session, struct order *order);
bool purchase_cancel_write(struct session *session, struct order *order,
                           enum pg_status (*return_stock)(struct session *, const struct order *,
                                                          int64_t epoch));
/* The usual way: to the product's row, under the hold's fence. */
enum pg_status purchase_return_stock(struct session *session, const struct order *order,
                                     int64_t epoch);

#endif
