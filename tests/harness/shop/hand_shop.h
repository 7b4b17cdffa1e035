/* A shop's sale by hand: a line a purchase, a line an order. */
#ifndef SECKILL_TESTS_HARNESS_SHOP_HAND_SHOP_H
#define SECKILL_TESTS_HARNESS_SHOP_HAND_SHOP_H

#include "loadtest/shop/sale/sale.h"

struct hand_shop {
    struct target target; /* its texts are borrowed: no target_fini */
    struct sale sale;
};

extern struct hand_shop shop; /* the running test's */

/* cmocka's setup and teardown: two units of stock, one a user, every claim is to be judged. */
int hand_shop_begin(void **state);
int hand_shop_end(void **state);

/* `order` may be NULL. The key is the user's own with a number behind it; a repeat has that of the
 * same user's last purchase. */
struct ledger_op *hand_shop_told(const char *user, enum shop_meaning meaning, const char *order);
struct ledger_op *hand_shop_repeat(const char *user, enum shop_meaning meaning, const char *order);
/* Either may be NULL. */
void hand_shop_row(const char *id, const char *user, int64_t units);
void hand_shop_left(int64_t left);
void hand_shop_sells(int64_t stock, int64_t limit);

#endif
