/*
 * Our own server as a shop in a target's file, for tests that run `seckill-loadtest shop` as a user
 * does: some units of one product, protected, one purchase a user.
 */
#ifndef SECKILL_TESTS_HARNESS_SHOP_SHOP_BED_H
#define SECKILL_TESTS_HARNESS_SHOP_SHOP_BED_H

#include "harness/bed/own_bed.h"

enum { SHOP_BED_PRODUCT = 1000078, SHOP_BED_STOCK = 20 };

/* Writes shop.yaml into the bed's folder, of its first server; one without a server names an
 * address where nobody listens, and has no reset. `audit`: the lines of the file's audit. */
void shop_bed_write(const char *audit);
/* The same of a shop that is bought from at another URL than the server's own. */
void shop_bed_write_at(const char *server, const char *audit);
/* The usual ones: what is left, and the orders. */
#define SHOP_BED_AUDIT                                                                             \
    "  stock: {sql: 'SELECT stock FROM seckill.product WHERE id = {product}'}\n"                   \
    "  orders:\n"                                                                                  \
    "    sql: SELECT o.id, user_id, quantity FROM seckill.orders o JOIN seckill.product p\n"       \
    "      ON p.id = product_id AND p.epoch = o.epoch WHERE p.id = {product} AND status = 1\n"

/* Of a file in the bed's folder; valid until the next call. */
const char *shop_bed_path(const char *name);

/* Runs it with 80 buyers and more arguments; its exit status. */
int shop_bed_run(const char *arguments);

#endif
