/*
 * Our own server as a shop in a target's file, for tests that run `seckill-loadtest shop` as a user
 * does: some units of one product, protected, one purchase a user.
 */
#ifndef SECKILL_TESTS_HARNESS_SHOP_OWN_SHOP_H
#define SECKILL_TESTS_HARNESS_SHOP_OWN_SHOP_H

#include "harness/fixtures/program.h"

enum { OWN_SHOP_PRODUCT = 1000078, OWN_SHOP_STOCK = 20 };

/* Writes shop.yaml into the program's folder, of its first server; one without a server names an
 * address where nobody listens, and has no reset. `audit`: the lines of the file's audit. */
void own_shop_write(const char *audit);
/* The same of a shop that is bought from at another URL than the server's own. */
void own_shop_write_at(const char *server, const char *audit);
/* The usual ones: what is left, and the orders. */
#define OWN_SHOP_AUDIT                                                                             \
    "  stock: {sql: 'SELECT stock FROM seckill.product WHERE id = {product}'}\n"                   \
    "  orders:\n"                                                                                  \
    "    sql: SELECT o.id, user_id, quantity FROM seckill.orders o JOIN seckill.product p\n"       \
    "      ON p.id = product_id AND p.epoch = o.epoch WHERE p.id = {product} AND status = 1\n"

/* Of a file in the program's folder; valid until the next call. */
const char *own_shop_path(const char *name);

/* Runs it with 80 buyers and more arguments; its exit status. */
int own_shop_run(const char *arguments);

#endif
