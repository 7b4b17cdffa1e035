/*
 * Products whose mirrors missed a commit, a PUT or returned units, because Redis was out of reach.
 * The writer unloads these mirrors as soon as Redis answers, and reconciles. Any thread.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_MEND_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_MEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { MEND_MAX = 256 };

/* It outlives no process: what is in it then is found by the reconciler. */
struct stock_mend {
    pthread_mutex_t mutex; /* of the list; held for no I/O */
    int count;
    int64_t products[MEND_MAX];
    atomic_bool round; /* some mirror may be wrong: a round of the reconciler is wanted */
};

void stock_mend_init(struct stock_mend *list);
void stock_mend_fini(struct stock_mend *list);

/* This mirror is to be unloaded. When there are too many, the reconciler has to find it. */
void stock_mend_ask(struct stock_mend *list, int64_t product_id);
/* All of them, and the list is empty; how many. */
int stock_mend_take(struct stock_mend *list, int64_t products[MEND_MAX]);
/* One that was taken, and could not be unloaded. */
void stock_mend_put_back(struct stock_mend *list, int64_t product_id);

#endif
