/*
 * The queue of statements that are to be cancelled: sessions put requests in, the canceller
 * (canceller.c) takes them out. A request that finds the queue full is dropped.
 */
#ifndef SECKILL_POSTGRES_CANCELS_H
#define SECKILL_POSTGRES_CANCELS_H

#include "postgres/connect/hosts.h"

#include <pthread.h>
#include <stdbool.h>

enum { CANCELS_MAX = 64 };

/* Which session, on which server. */
struct cancel_request {
    int pid; /* 0: a pooler's, which cannot be asked for; the request is dropped */
    struct host_address at;
};

struct cancels {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct cancel_request *requests[CANCELS_MAX]; /* owned */
    int count;
    bool stopping;
};

void cancels_init(struct cancels *cancels);
void cancels_fini(struct cancels *cancels);
/* Waits for a request, which the caller then owns; NULL: cancels_stop was called. */
struct cancel_request *cancels_take(struct cancels *cancels);
void cancels_stop(struct cancels *cancels);

/* Takes ownership. */
void cancels_put(struct cancels *cancels, struct cancel_request *request);

/* NULL: no memory. */
struct cancel_request *cancel_request_create(int pid, const struct host_address *at);
void cancel_request_free(struct cancel_request *request); /* NULL is allowed */

#endif
