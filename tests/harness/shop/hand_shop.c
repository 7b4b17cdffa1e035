/* See hand_shop.h. */
#include "harness/shop/hand_shop.h"

#include "lib/t.h"

#include <string.h>

struct hand_shop shop;

int hand_shop_begin(void **state)
{
    (void)state;
    shop =
        (struct hand_shop){.sale.ledger = {.shop = strdup("ours"), .books = {.has_orders = true}}};
    ledger_add_product(&shop.sale.ledger, &(struct ledger_product){.id = 7});
    hand_shop_sells(2, 1);
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        shop.target.claims[i] = true;
    return 0;
}

int hand_shop_end(void **state)
{
    (void)state;
    sale_fini(&shop.sale);
    return 0;
}

void hand_shop_sells(int64_t stock, int64_t limit)
{
    shop.target.stock = shop.sale.ledger.products[0].stock = stock;
    shop.target.limit = shop.sale.ledger.products[0].limit = limit;
}

static char *copy_text(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    assert_true(copy || !text);
    return copy;
}

static struct ledger_op *add(const char *user, const char *key, enum shop_meaning meaning,
                             const char *order)
{
    int64_t number = (int64_t)shop.sale.ledger.ops_count + 1;
    struct ledger_op op = {.number = number,
                           .kind = LEDGER_BUY,
                           .user = copy_text(user),
                           .start_us = 10 * number,
                           .end_us = 10 * number + 5,
                           .key = copy_text(key),
                           .order = copy_text(order)};
    ledger_op_means(&op, meaning);
    return ledger_add_op(&shop.sale.ledger, &op);
}

struct ledger_op *hand_shop_told(const char *user, enum shop_meaning meaning, const char *order)
{
    return add(user, t_text("%s-%zu", user, shop.sale.ledger.ops_count), meaning, order);
}

struct ledger_op *hand_shop_repeat(const char *user, enum shop_meaning meaning, const char *order)
{
    const char *key = NULL;
    for (size_t i = 0; i < shop.sale.ledger.ops_count; i++) {
        if (strcmp(shop.sale.ledger.ops[i].user, user) == 0)
            key = shop.sale.ledger.ops[i].key;
    }
    assert_non_null(key);
    struct ledger_op *one = add(user, key, meaning, order);
    one->repeat = true;
    return one;
}

void hand_shop_row(const char *id, const char *user, int64_t units)
{
    struct row_order *row = rows_add_order(&shop.sale.ledger.books);
    row->id = copy_text(id);
    row->user = copy_text(user);
    row->quantity = units;
}

void hand_shop_left(int64_t left)
{
    shop.sale.ledger.books.has_left = true;
    shop.sale.ledger.books.left = left;
}
