/* A pool of memory, whose pieces end together; and arrays that grow. One thread. */
#ifndef SECKILL_LOADTEST_BASE_POOL_H
#define SECKILL_LOADTEST_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct pool {
    struct pool_piece *pieces; /* owned; a zeroed pool has none */
    bool failed;               /* memory was out once; to be asked when all is made */
};

/* Zeroed bytes, the pool's own; NULL: memory is out. */
void *pool_take(struct pool *pool, size_t size);
/* A text as printf makes it, the pool's own; "" when memory is out. */
__attribute__((format(printf, 2, 3))) const char *pool_text(struct pool *pool, const char *format,
                                                            ...);
void pool_fini(struct pool *pool); /* leaves it empty */

/* A new item at the end, zeroed, of an array that nothing else has allocated: `items` is where its
 * pointer stands. NULL: memory is out, and the array is as it was. Valid until the next. */
void *array_add(void *items, size_t *count, size_t item_bytes);

#endif
