/* What redis-stock keeps outside PostgreSQL; see external_state.h. */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_EXTERNAL_STATE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_EXTERNAL_STATE_H

#include "strategy/external_state.h"

#include <pthread.h>

/* A few sessions with Redis, for callers who have none. */
enum { STOCK_LENT_MAX = 4 };
struct stock_lent {
    pthread_mutex_t mutex;
    struct redis *sessions[STOCK_LENT_MAX]; /* owned */
    int count;
};

void stock_lent_init(struct stock_lent *lent);
void stock_lent_fini(struct stock_lent *lent);

extern const struct external_state stock_external_state;

#endif
