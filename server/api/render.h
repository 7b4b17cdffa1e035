/*
 * Render: from records to the JSON of docs/openapi.yaml. No libmicrohttpd here; any thread.
 *
 * Orders are put together by hand (base/put.h), because they are the hot path and every string in
 * them is ours. Whatever may hold a client's text goes through jansson. Functions that return
 * `char *` return a heap string that the caller frees, NULL when there is no memory.
 */
#ifndef SECKILL_API_RENDER_H
#define SECKILL_API_RENDER_H

#include "order/order.h"
#include "postgres/catalog.h"
#include "strategy/strategy.h"

#include <stddef.h>

enum { RENDER_ORDER_MAX = 768 };
/* Names, numbers, dates and ids take fewer than 640. */
_Static_assert(RENDER_ORDER_MAX > 640 + ORDER_STRATEGY_MAX + ORDER_REASON_MAX, "an order fits");

/* `timings` is the order whose times are told, or NULL. Returns the length, less than the room. */
size_t render_order(const struct order_record *record, const struct order *timings,
                    char out[RENDER_ORDER_MAX]);
/* `next` is the id or the position to go on after, or NULL. Orders of the feed tell their epochs.
 */
char *render_orders(const struct order_record *records, int count, const char *next, bool feed);

char *render_product(const struct product *product);
char *render_products(const struct product *products, int count, int64_t next); /* 0: no next */
char *render_audit(const struct audit *audit);
char *render_strategies(const struct services *services);

#endif
