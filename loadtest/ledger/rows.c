/* See rows.h. */
#include "loadtest/ledger/rows.h"

#include "loadtest/base/pool.h"

#include <stdlib.h>

struct row_order *rows_add_order(struct rows *rows)
{
    struct row_order *added = array_add(&rows->orders, &rows->orders_count, sizeof *added);
    if (added)
        added->state = LEDGER_CONFIRMED;
    return added;
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
