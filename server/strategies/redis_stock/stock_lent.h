/* A few sessions with the Redis of --stock-redis, for callers on threads that have none. Any
 * thread.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_LENT_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_LENT_H

#include "redis/redis.h"

#include <pthread.h>

enum { STOCK_LENT_MAX = 4 };

struct stock_lent {
    struct redis_server *server;            /* borrowed */
    pthread_mutex_t mutex;                  /* of what follows */
    struct redis *sessions[STOCK_LENT_MAX]; /* owned */
    int count;
};

void stock_lent_init(struct stock_lent *lent, struct redis_server *server);
void stock_lent_fini(struct stock_lent *lent);

/* A session that is connected within `timeout_us`, or NULL; to be handed back. */
struct redis *stock_lend(struct stock_lent *lent, int64_t timeout_us);
void stock_give_back(struct stock_lent *lent, struct redis *redis);

#endif
