/* See history.h. */
#include "loadtest/shop/claims/history.h"

#include <stdlib.h>

/* Room for one more; NULL: out of memory. */
static void *grow(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    size_t wanted = *room ? *room * 2 : 256;
    void *more = reallocarray(items, wanted, size);
    if (more)
        *room = wanted;
    return more;
}

struct shop_purchase *history_add(struct shop_history *history)
{
    struct shop_purchase *items =
        grow(history->items, history->count, &history->room, sizeof *items);
    if (!items)
        return NULL;
    history->items = items;
    items[history->count] = (struct shop_purchase){0};
    return &items[history->count++];
}

struct shop_row *shop_books_add(struct shop_books *books)
{
    struct shop_row *rows = grow(books->rows, books->count, &books->room, sizeof *rows);
    if (!rows)
        return NULL;
    books->rows = rows;
    rows[books->count] = (struct shop_row){0};
    return &rows[books->count++];
}

void history_fini(struct shop_history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        free(history->items[i].user);
        free(history->items[i].key);
        free(history->items[i].order);
    }
    free(history->items);
    *history = (struct shop_history){0};
}

void shop_books_fini(struct shop_books *books)
{
    for (size_t i = 0; i < books->count; i++) {
        free(books->rows[i].id);
        free(books->rows[i].user);
    }
    free(books->rows);
    *books = (struct shop_books){0};
}
