/*
 * Accepted orders that are not decided, should Redis lose them (stock_lost.h).
 *
 * What the writer decides at once never comes here. What it puts off, and what is reserved while
 * the hand-over is closed, stands in Redis alone, and here. An entry is found by the group of its
 * orders' ids (uuid.h), because its own id changes when it is put back into the stream. Others may
 * decide it: then it stays here until stock_lost.h has asked.
 *
 * Bounded: what would be beyond KEPT_BYTES_MAX is not kept, and the log says so. Thread rule: any
 * thread adds, the writer alone calls the other functions.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_KEPT_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_KEPT_H

#include "strategies/redis_stock/writer/stock_claim.h"

#include <pthread.h>

/* Room for 100,000 orders that came one by one; for three times as many that came together. */
enum { KEPT_BYTES_MAX = 16 << 20, KEPT_SLOTS = 4096 };

struct kept_order {
    struct uuid id;
    int64_t user_id;
    int64_t quantity;
    int64_t created_us;
};

struct kept_entry {
    struct kept_entry *next; /* in its slot */
    uint64_t group;
    uint64_t ms; /* the entry's id, "MS-N" */
    uint64_t n;
    int64_t since_us;
    int64_t asked_us; /* about it: `before_us` of that stock_kept_page */
    int64_t product_id;
    int64_t epoch;
    int count;
    struct kept_order orders[];
};

struct stock_kept {
    pthread_mutex_t mutex; /* of all that follows */
    size_t bytes;
    bool full;                            /* which is logged once */
    struct kept_entry *slots[KEPT_SLOTS]; /* owned */
};

void stock_kept_init(struct stock_kept *kept);
void stock_kept_fini(struct stock_kept *kept);

/* One entry's orders, the next one `stride` bytes behind the last; once, however often. */
void stock_kept_add(struct stock_kept *kept, const char *entry, const struct waiting_order *orders,
                    size_t stride, int count);
/* The entry of which this is an order is decided. */
void stock_kept_remove(struct stock_kept *kept, const struct uuid *id);

/* The next entries that were added before `before_us`, at most `most`, from *slot on (0 at first);
 * each once. They stay until they are removed. */
int stock_kept_page(struct stock_kept *kept, int64_t before_us, int *slot,
                    const struct kept_entry **page, int most);

#endif
