/*
 * Products whose mirrors missed a commit, a PUT or returned units, because Redis was out of reach
 * for longer than the answer could wait (stock_mirror_forget_late).
 * The writer unloads these mirrors as soon as Redis answers, and reconciles. Any thread.
 *
 * Until then the mirror that came back with Redis is short of the units that were returned, and
 * "sold out" and "limit reached" may be false, through any instance. The bound: this instance's
 * writer tries each 0.1 s, and a failed attempt of any thread keeps it from trying for 0.31 s at
 * most; so 0.6 s from when Redis answers again, and the batch (work_timeout_ms) that the writer is
 * at. If the process dies first it is the next round of the reconciler that finds the mirror at
 * rest. Nothing is sold twice meanwhile. To have each refusal compared with the row instead, while
 * it is not known whether something was missed, takes the row's lock: a product whose row is held
 * could refuse nobody then.
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
