/*
 * One call of the reserving script: what it is told, and how it is sent.
 *
 * The orders' ids are given here, all of one group, by which they are found while they wait
 * (stock_waiting.h). Each sending has a number; when its answer is lost, the number says whether it
 * has run, and if it has not, it never will. A call belongs to one thread.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_CALL_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_CALL_H

#include "strategies/redis_stock/writer/stock_stream.h"
#include "strategy/session.h"

enum { RESERVE_MAX = 500 }; /* orders of a call */

struct stock_call {
    const struct stock_shard *shard; /* borrowed */
    char mirror[STOCK_KEY_MAX];
    char stream[STOCK_KEY_MAX];
    char waiting[STOCK_KEY_MAX];
    char units[STOCK_KEY_MAX];
    char caller[STOCK_KEY_MAX];
    char number[STOCK_NUMBER_MAX];
    char product[STOCK_NUMBER_MAX];
    char most[STOCK_NUMBER_MAX];
    char key_life[STOCK_NUMBER_MAX];
    char known[STOCK_NUMBER_MAX]; /* epoch */
    char above[STOCK_NUMBER_MAX]; /* and below: the epochs of this database's sales */
    char below[STOCK_NUMBER_MAX];
    char group[UUID_TEXT_LENGTH + 1];
    char member[STOCK_MEMBER_MAX]; /* of the consumer group: this instance's writer */
    bool keyed;                    /* some orders have an Idempotency-Key */
    char count[STOCK_NUMBER_MAX];
    char sum[STOCK_NUMBER_MAX]; /* units of all */
    char *lines;                /* owned */
};

/* `orders` are of one product, and nobody has been told their ids. To be freed. */
void stock_call_prepare(struct stock_call *call, const struct settings *settings,
                        const struct stock_shards *shards, struct order **orders, int count);
void stock_call_free(struct stock_call *call);

/* `epoch`: the one that the caller knows, 0 for none. REDIS_OK: *reply is the script's answer, to
 * be freed, an empty one when the call has not run; REDIS_LOST: nobody can tell until
 * `settle_until_us`. */
enum redis_status stock_call_send(struct session *session, struct stock_call *call, int64_t epoch,
                                  int64_t settle_until_us, struct redis_reply **reply);

#endif
