/*
 * Memory, zeroed: of one's own, of a pool, whose pieces end together, and of arrays that grow.
 * Where there is none the program says so and ends with what it has started, with the exit status
 * of what could not be done: there is no other way on, and so nobody has to look. One thread.
 */
#ifndef SECKILL_LOADTEST_BASE_POOL_H
#define SECKILL_LOADTEST_BASE_POOL_H

#include <stddef.h>

void *memory_take(size_t size);
/* What somebody else has made, where NULL says that there was no memory for it. */
void *memory_need(void *made);

struct pool {
    struct pool_piece *pieces; /* owned; a zeroed pool has none */
};

/* The pool's own. */
void *pool_take(struct pool *pool, size_t size);
char *pool_copy(struct pool *pool, const char *text, size_t length);
void pool_fini(struct pool *pool); /* leaves it empty */

/* A new item at the end, zeroed, of an array that nothing else has allocated: `items` is where its
 * pointer stands. Valid until the next. */
void *array_add(void *items, size_t *count, size_t item_bytes);

#endif
