/* See pool.h. */
#include "loadtest/base/pool.h"

#include "loadtest/base/process.h"

#include <stdlib.h>
#include <string.h>

struct pool_piece {
    struct pool_piece *next; /* owned */
    max_align_t bytes[];
};

static void *need(void *memory)
{
    if (memory)
        return memory;
    int status = process_fail("out of memory");
    process_end_all();
    exit(status);
}

void *memory_take(size_t size)
{
    return need(calloc(1, size));
}

char *memory_copy(const char *text)
{
    return need(strdup(text));
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
        list = need(reallocarray(list, *count ? 2 * *count : 1, item_bytes));
        memcpy(items, &list, sizeof list);
    }
    return memset(list + (*count)++ * item_bytes, 0, item_bytes);
}
