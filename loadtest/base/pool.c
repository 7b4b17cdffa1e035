/* See pool.h. */
#include "loadtest/base/pool.h"

#include <stdlib.h>
#include <string.h>

struct pool_piece {
    struct pool_piece *next; /* owned */
    max_align_t bytes[];
};

void *pool_take(struct pool *pool, size_t size)
{
    struct pool_piece *piece = calloc(1, sizeof *piece + size);
    if (!piece)
        return NULL;
    piece->next = pool->pieces;
    pool->pieces = piece;
    return piece->bytes;
}

char *pool_copy(struct pool *pool, const char *text, size_t length)
{
    char *copy = pool_take(pool, length + 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

void pool_fini(struct pool *pool)
{
    while (pool->pieces) {
        struct pool_piece *piece = pool->pieces;
        pool->pieces = piece->next;
        free(piece);
    }
}

/* Its room is always the power of two that the count calls for, and so is not kept anywhere. */
void *array_add(void *items, size_t *count, size_t item_bytes)
{
    char *list;
    memcpy(&list, items, sizeof list);
    if ((*count & (*count - 1)) == 0) {
        char *grown = reallocarray(list, *count ? 2 * *count : 1, item_bytes);
        if (!grown)
            return NULL;
        memcpy(items, &grown, sizeof grown);
        list = grown;
    }
    return memset(list + (*count)++ * item_bytes, 0, item_bytes);
}
