/*
 * A listener (listener.h) as a shop: a target that sells there, one purchase after the other, and
 * what it heard. One unit, three users, 7 to 9; 200 is sold.
 */
#ifndef SECKILL_TESTS_HARNESS_SHOP_WIRE_SHOP_H
#define SECKILL_TESTS_HARNESS_SHOP_WIRE_SHOP_H

#include "harness/shop/wire/listener.h"
#include "loadtest/shop/sale/sale.h"

#define WIRE_SOLD "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"id\": 17}"

struct wire_shop {
    char folder[64]; /* has the last sale's ledger */
    char url[128];   /* of the purchase: /buy */
    char login[128]; /* /login */
    int64_t timeout_ms;
    struct shop_rule sold;
    struct target target; /* POSTs to `url`, without a body */
    struct sale sale;
    char heard[262144];
};

extern struct wire_shop wire; /* the running test's */

/* cmocka's setup and teardown. */
int wire_shop_begin(void **state);
int wire_shop_end(void **state);

/* So many purchases at a shop that gives this answer to whatever it hears; how many requests
 * came. */
size_t wire_shop_buy(enum listener_way way, const char *answer, int64_t buyers);

/* The ledger's lines in which all of the texts stand; the last is NULL. */
size_t wire_shop_ledger(const char *const *texts);

#endif
