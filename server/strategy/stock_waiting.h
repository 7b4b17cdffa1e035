/*
 * Waiting orders: answered with 202, reserved in Redis, not decided in PostgreSQL.
 *
 * The hash "waiting" has one field an order, "ENTRY PRODUCT EPOCH ID USER QUANTITY CREATED KEY",
 * ENTRY being the stream entry that carries it to the writer. It is what GET /orders/ID reads, from
 * every instance, and what a poisoned entry's orders are found by. An order leaves it when the
 * writer has decided it.
 */
#ifndef SECKILL_STRATEGY_STOCK_WAITING_H
#define SECKILL_STRATEGY_STOCK_WAITING_H

#include "order/order.h"
#include "strategy/stock_mirror.h"

enum { STOCK_ENTRY_MAX = 48 };

struct waiting_order {
    char entry[STOCK_ENTRY_MAX];
    struct uuid id;
    int64_t product_id;
    int64_t epoch;
    int64_t user_id;
    int64_t quantity;
    int64_t created_us;
    char key[ORDER_KEY_MAX + 1];
};

/* "ID USER QUANTITY CREATED KEY" up to the end of the line; what they must be is checked. Returns
 * what follows the line, NULL when it is malformed. */
const char *waiting_parse_line(const char *line, struct waiting_order *out);
/* A field's value. */
bool waiting_parse(const char *value, struct waiting_order *out);
/* As GET /orders/ID shows it: queued. */
void waiting_record(const struct waiting_order *order, struct order_record *out);

/* STOCK_ABSENT: it does not wait. */
enum stock_result stock_waiting_find(struct stock_link *link, const struct uuid *id,
                                     struct waiting_order *out);
/* Calls `each` for every waiting order; one may come twice. Malformed ones are skipped. */
enum stock_result stock_waiting_each(struct stock_link *link,
                                     void (*each)(void *context, const struct waiting_order *order),
                                     void *context);

struct stock_reservations {
    struct waiting_order *items; /* owned by the caller: free */
    int count;
    int room;
    int64_t units;
};

/* Those of one product and epoch that have no row in PostgreSQL. The caller holds the product's row
 * and has seen the mirror unloaded. */
enum stock_result stock_waiting_undecided(struct stock_link *link, int64_t product_id,
                                          int64_t epoch, struct stock_reservations *out);

#endif
