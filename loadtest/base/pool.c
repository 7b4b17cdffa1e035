/* See pool.h. */
#include "loadtest/base/pool.h"

#include "loadtest/base/process.h"

#include <stdlib.h>
#include <string.h>

struct pool_piece {
    struct pool_piece *next; /* owned */
    max_align_t bytes[];
};

void *memory_need(void *made)
{
    if (made)
        return made;
    int status = process_fail("out of memory");
    process_end_all();
    exit(status);
}

void *memory_take(size_t size)
{
    return memory_need(calloc(1, size));
}

void *pool_take(struct pool *pool, size_t size)
{
    struct pool_piece *piece = memory_take(sizeof *piece + size);
    piece->next = pool->pieces;
    pool->pieces = piece;
    return piece->bytes;
}

char *pool_copy(struct pool *pool, const char *text, size_t length)
{
    return memcpy(pool_take(pool, length + 1), text, length);
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
        list = memory_need(reallocarray(list, *count ? 2 * *count : 1, item_bytes));
        memcpy(items, &list, sizeof list);
    }
    return memset(list + (*count)++ * item_bytes, 0, item_bytes);
}
