/* See rows.h. */
#include "loadtest/ledger/rows.h"

#include <stdlib.h>

void *rows_make_room(void *items, size_t count, size_t *size, size_t item_bytes)
{
    if (count < *size)
        return items;
    size_t more = *size ? *size * 2 : 64;
    void *grown = reallocarray(items, more, item_bytes);
    if (grown)
        *size = more;
    return grown;
}

struct row_order *rows_add_order(struct rows *rows)
{
    struct row_order *items =
        rows_make_room(rows->orders, rows->orders_count, &rows->orders_size, sizeof *items);
    if (!items)
        return NULL;
    rows->orders = items;
    items[rows->orders_count] = (struct row_order){.state = LEDGER_CONFIRMED};
    return &items[rows->orders_count++];
}

void rows_fini(struct rows *rows)
{
    for (size_t i = 0; i < rows->orders_count; i++) {
        free(rows->orders[i].id);
        free(rows->orders[i].user);
        free(rows->orders[i].key);
    }
    free(rows->products);
    free(rows->strays);
    free(rows->orders);
    free(rows->restocks);
    free(rows->mirrors);
    *rows = (struct rows){0};
}

int rows_compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

void *rows_find(const void *items, size_t count, size_t item_bytes, int64_t number)
{
    return count ? bsearch(&number, items, count, item_bytes, rows_compare) : NULL;
}

const struct row_product *rows_find_product(const struct rows *rows, int64_t id)
{
    return rows_find(rows->products, rows->products_count, sizeof *rows->products, id);
}
