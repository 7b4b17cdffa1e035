/*
 * Waiting orders: answered with 202, reserved in Redis, not decided in PostgreSQL.
 *
 * They stand in the stream that carries them to the writer: an entry is one batch of one product,
 * its fields are product, epoch and orders, a line "ID USER QUANTITY CREATED[:HOLD] KEY" each; HOLD
 * is missing where the order does not say how long it may wait to be paid. The ids of a batch are
 * of one group (uuid.h), and the hash "waiting" has, for each group, the entry's id and the orders
 * once more; so GET /orders/ID finds the order, from every instance, and an entry that the stream
 * has lost is put back (stock_waiting_restore). Where only some orders of an entry have been
 * decided, "partly" names them. Lines are parsed strictly, because anybody may write into a Redis:
 * one that is malformed is no order.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_WAITING_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_WAITING_H

#include "order/order.h"
#include "strategies/redis_stock/stock_link.h"

struct waiting_order {
    struct uuid id;
    int64_t product_id;
    int64_t epoch;
    int64_t user_id;
    int64_t quantity;
    int64_t created_us;
    int64_t hold_s; /* or ORDER_HOLD_NOT_SAID */
    char key[ORDER_KEY_MAX + 1];
};

/* The orders of an entry, one after the other. */
struct waiting_lines {
    int64_t product_id;
    int64_t epoch;
    const char *at; /* borrowed: the reply */
    int malformed;  /* lines, so far */
};

/* `entry` as XRANGE and XREADGROUP have it, [id, fields]. One without what it needs has no orders,
 * and counts as a malformed line. */
void waiting_open(const struct redis_reply *entry, struct waiting_lines *out);
/* The next order; false when there is no more. Passes over malformed lines. */
bool waiting_next(struct waiting_lines *lines, struct waiting_order *out);

/* As GET /orders/ID shows it: queued. */
void waiting_record(const struct waiting_order *order, struct order_record *out);

/* STOCK_ABSENT: it does not wait. */
enum stock_result stock_waiting_find(struct stock_link *link, const struct uuid *id,
                                     struct waiting_order *out);

/* Puts some entries back that the stream has lost, from *cursor on ("0" before and after all), and
 * logs how many; also those of which nothing is left. */
enum stock_result stock_waiting_restore(struct stock_link *link, char cursor[STOCK_NUMBER_MAX]);

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
