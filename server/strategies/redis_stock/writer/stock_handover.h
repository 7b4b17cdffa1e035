/*
 * The hand-over: entries from this instance's workers to its writer, which need not read them from
 * Redis.
 *
 * The stream has the same entries, from their first moment in the history of this instance's member
 * (lua/stock/stock_reserve.lua).
 *
 * Failure modes: the writer cannot keep up, or has failed at something: the hand-over is closed and
 * emptied, and the writer reads the member's history. What then stands in Redis alone is kept, in
 * case Redis loses it (stock_kept.h). Thread rule: workers put, the writer alone calls the other
 * functions.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_HANDOVER_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_HANDOVER_H

#include "strategies/redis_stock/writer/stock_kept.h"
#include "strategies/redis_stock/writer/stock_stream.h"

#include <pthread.h>

struct stock_handover {
    struct stock_kept kept;
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

/* From now on what is put is handed over; with too much of it the hand-over closes itself. */
void stock_handover_open(struct stock_handover *handover);
/* Drops what is there; from now on what is put is not handed over. */
void stock_handover_close(struct stock_handover *handover);
bool stock_handover_is_open(struct stock_handover *handover);

/* Takes the oldest entries, each whole, as claims at part->claims; waits until `until_us` for some,
 * and then a moment for more. False: there is nothing. */
bool stock_handover_take(struct stock_handover *handover, struct stock_part *part,
                         int64_t until_us);
bool stock_handover_is_empty(struct stock_handover *handover);
/* The part was written: what is not decided is in nobody's hand now, and is kept. */
void stock_handover_keep_undecided(struct stock_handover *handover, const struct stock_part *part);

#endif
