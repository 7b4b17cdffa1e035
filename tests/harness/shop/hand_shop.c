/* See hand_shop.h. */
#include "harness/shop/hand_shop.h"

#include "lib/t.h"

#include <stdlib.h>
#include <string.h>

struct hand_shop shop;

int hand_shop_begin(void **state)
{
    (void)state;
    shop = (struct hand_shop){.target = {.stock = 2, .limit = 1}, .books = {.has_rows = true}};
    for (size_t i = 0; i < SHOP_CLAIMS; i++)
        shop.target.claims[i] = true;
    return 0;
}

int hand_shop_end(void **state)
{
    (void)state;
    history_fini(&shop.history);
    shop_books_fini(&shop.books);
    return 0;
}

static char *copy_text(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    assert_true(copy || !text);
    return copy;
}

static struct shop_purchase *add(const char *user, const char *key, enum shop_meaning meaning,
                                 const char *order)
{
    char *kept = copy_text(key);
    struct shop_purchase *one = history_add(&shop.history);
    assert_non_null(one);
    int64_t start_us = 10 * (int64_t)shop.history.count;
    *one = (struct shop_purchase){.user = copy_text(user),
                                  .start_us = start_us,
                                  .end_us = start_us + 5,
                                  .key = kept,
                                  .asked = true,
                                  .first = meaning,
                                  .last = meaning,
                                  .order = copy_text(order)};
    return one;
}

struct shop_purchase *hand_shop_told(const char *user, enum shop_meaning meaning, const char *order)
{
    char key[64];
    snprintf(key, sizeof key, "%s-%zu", user, shop.history.count);
    return add(user, key, meaning, order);
}

struct shop_purchase *hand_shop_repeat(const char *user, enum shop_meaning meaning,
                                       const char *order)
{
    const char *key = NULL;
    for (size_t i = 0; i < shop.history.count; i++) {
        if (strcmp(shop.history.items[i].user, user) == 0)
            key = shop.history.items[i].key;
    }
    assert_non_null(key);
    struct shop_purchase *one = add(user, key, meaning, order);
    one->repeat = true;
    return one;
}

void hand_shop_row(const char *id, const char *user, int64_t units)
{
    struct shop_row *row = shop_books_add(&shop.books);
    assert_non_null(row);
    *row = (struct shop_row){copy_text(id), copy_text(user), units};
}

void hand_shop_left(int64_t left)
{
    shop.books.has_left = true;
    shop.books.left = left;
}
