/*
 * From the workers to the writer of the same instance: what was reserved here is written here, and
 * need not be read back from Redis first.
 *
 * The stream has it all the same: an entry is its instance's member's from the moment it is there
 * (lua/stock/stock_reserve.lua). So whoever cannot keep up may throw away what was handed over, and
 * read the member's own history; so does a writer that has failed at something. Workers put, the
 * writer alone does the rest.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_HANDOVER_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_HANDOVER_H

#include "strategies/redis_stock/writer/stock_stream.h"

#include <pthread.h>

struct stock_handover {
    pthread_mutex_t mutex; /* of all that follows */
    pthread_cond_t changed;
    bool open;
    struct handed *first; /* owned, all of the list */
    struct handed **last;
    int orders;
};

void stock_handover_init(struct stock_handover *handover);
void stock_handover_fini(struct stock_handover *handover);

/* Those of `orders` that were accepted, all of one product; `entry` is the stream's. */
void stock_handover_put(struct stock_handover *handover, const char *entry, int64_t epoch,
                        struct order *const *orders, int count);

/* From now on what is put is kept, until there is more than the writer would ever catch up with. */
void stock_handover_open(struct stock_handover *handover);
/* Nothing is left, and nothing is kept. */
void stock_handover_close(struct stock_handover *handover);
bool stock_handover_is_open(struct stock_handover *handover);

/* What was put first, whole entries, as claims at part->claims; waits until `until_us` for some,
 * and then a moment for more. False: there is nothing. */
bool stock_handover_take(struct stock_handover *handover, struct stock_part *part,
                         int64_t until_us);
bool stock_handover_is_empty(struct stock_handover *handover);

#endif
