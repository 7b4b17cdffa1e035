/* See pool.h. */
#include "loadtest/base/pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pool_piece {
    struct pool_piece *next; /* owned */
    max_align_t bytes[];
};

void *pool_take(struct pool *pool, size_t size)
{
    struct pool_piece *piece = calloc(1, sizeof *piece + size);
    pool->failed |= !piece;
    if (!piece)
        return NULL;
    piece->next = pool->pieces;
    pool->pieces = piece;
    return piece->bytes;
}

const char *pool_text(struct pool *pool, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    size_t size = (size_t)(length > 0 ? length : 0) + 1;
    char *text = pool_take(pool, size);
    if (!text)
        return "";
    va_start(arguments, format);
    vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return text;
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
