/* A shop's history and books by hand: a line a purchase, a line an order. */
#ifndef SECKILL_TESTS_HARNESS_SHOP_HAND_SHOP_H
#define SECKILL_TESTS_HARNESS_SHOP_HAND_SHOP_H

#include "loadtest/shop/claims/claims.h"

struct hand_shop {
    struct target target; /* its texts are borrowed: no target_fini */
    struct shop_history history;
    struct shop_books books;
};

/* Two units of stock, one a user, every claim is to be judged. */
void hand_shop_init(struct hand_shop *shop);
void hand_shop_fini(struct hand_shop *shop);

/* `order` may be NULL. The key is the user's own with a number behind it; a repeat has that of the
 * same user's last purchase. */
struct shop_purchase *hand_shop_told(struct hand_shop *shop, const char *user,
                                     enum shop_meaning meaning, const char *order);
struct shop_purchase *hand_shop_repeat(struct hand_shop *shop, const char *user,
                                       enum shop_meaning meaning, const char *order);
/* Either may be NULL. */
void hand_shop_row(struct hand_shop *shop, const char *id, const char *user, int64_t units);
void hand_shop_left(struct hand_shop *shop, int64_t left);

#endif
