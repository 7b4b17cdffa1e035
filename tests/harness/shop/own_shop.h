/*
 * Our own server as a shop in a target's file, for tests that run `seckill-loadtest shop` as a user
 * does: some units of one product, protected, one purchase a user.
 */
#ifndef SECKILL_TESTS_HARNESS_SHOP_OWN_SHOP_H
#define SECKILL_TESTS_HARNESS_SHOP_OWN_SHOP_H

#include "harness/fixtures/program.h"

enum { OWN_SHOP_PRODUCT = 1000078, OWN_SHOP_STOCK = 20 };

/* What a target's file says of it. */
struct own_shop {
    const char *server;   /* its URL; NULL: the program's first server, or, where it has none, an
                             address where nobody listens, and no reset */
    const char *strategy; /* NULL: conditional */
    const char *users;    /* NULL: 1..1000 */
    const char *audit;    /* lines of its audit; "" or NULL: none */
    const char *more;     /* further lines; NULL: none */
};

/* Writes shop.yaml into the program's folder. */
void own_shop_describe(const struct own_shop *is);
void own_shop_write(const char *audit); /* the same with nothing else */
/* The usual ones: what is left, and the orders. */
#define OWN_SHOP_AUDIT                                                                             \
    "  stock: {sql: 'SELECT stock FROM seckill.product WHERE id = {product}'}\n"                   \
    "  orders:\n"                                                                                  \
    "    sql: SELECT o.id, user_id, quantity FROM seckill.orders o JOIN seckill.product p\n"       \
    "      ON p.id = product_id AND p.epoch = o.epoch WHERE p.id = {product} AND status = 1\n"

/* Runs it, and it must end so. */
void own_shop_exits(int status, const char *arguments);
#define OWN_SHOP_BUYERS "--buyers 80 --connections 8 "

#endif
