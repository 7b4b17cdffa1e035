#include "postgres/canceller.h"

#include "base/clock.h"
#include "base/log.h"
#include "postgres/pg_internal.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { CANCELLER_CAPACITY = 64, PATIENCE_US = 2000000 };

struct cancel_request {
    int pid;
    struct host_address at;
};

struct canceller {
    struct pg *pg; /* owned; the thread's */
    pthread_t thread;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        struct cancel_request *requests[CANCELLER_CAPACITY]; /* owned */
        int count;
        bool stopping;
    } shared;
};

struct cancel_request *cancel_request_create(const struct pg *pg)
{
    struct cancel_request *request = calloc(1, sizeof *request);

    if (request)
        *request = (struct cancel_request){PQbackendPID(pg->conn), pg->address};
    return request;
}

void cancel_request_free(struct cancel_request *request)
{
    free(request);
}

/* On the session's own server, where there are several. */
static void carry_out(struct pg *pg, const struct cancel_request *request)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;

    if (!pg_open_at(pg, &request->at, until_us) ||
        pg_exec(pg, SQL_CANCEL_WAITING, PG_ARGS(pg_int8(request->pid)), until_us) != PG_OK)
        log_debug("a statement was not cancelled: %s", pg_error(pg)->text);
    pg_close(pg);
}

static void *canceller_main(void *argument)
{
    struct canceller *canceller = argument;

    pthread_mutex_lock(&canceller->shared.mutex);
    while (!canceller->shared.stopping) {
        if (canceller->shared.count == 0) {
            pthread_cond_wait(&canceller->shared.changed, &canceller->shared.mutex);
            continue;
        }
        struct cancel_request *request = canceller->shared.requests[--canceller->shared.count];
        pthread_mutex_unlock(&canceller->shared.mutex);
        carry_out(canceller->pg, request);
        cancel_request_free(request);
        pthread_mutex_lock(&canceller->shared.mutex);
    }
    pthread_mutex_unlock(&canceller->shared.mutex);
    return NULL;
}

static void release(struct canceller *canceller)
{
    for (int i = 0; i < canceller->shared.count; i++)
        cancel_request_free(canceller->shared.requests[i]);
    pthread_cond_destroy(&canceller->shared.changed);
    pthread_mutex_destroy(&canceller->shared.mutex);
    pg_destroy(canceller->pg);
    free(canceller);
}

struct canceller *canceller_create(struct store *store)
{
    struct canceller *canceller = calloc(1, sizeof *canceller);

    if (!canceller)
        return NULL;
    canceller->pg = pg_create(store);
    if (canceller->pg)
        canceller->pg->name = "seckill-canceller";
    pthread_mutex_init(&canceller->shared.mutex, NULL);
    pthread_cond_init(&canceller->shared.changed, NULL);
    if (!canceller->pg ||
        pthread_create(&canceller->thread, NULL, canceller_main, canceller) != 0) {
        release(canceller);
        return NULL;
    }
    return canceller;
}

/* Takes ownership. From any thread. */
static void submit(struct canceller *canceller, struct cancel_request *request)
{
    bool taken = false;

    pthread_mutex_lock(&canceller->shared.mutex);
    if (canceller->shared.count < CANCELLER_CAPACITY) {
        canceller->shared.requests[canceller->shared.count++] = request;
        pthread_cond_signal(&canceller->shared.changed);
        taken = true;
    }
    pthread_mutex_unlock(&canceller->shared.mutex);
    if (!taken)
        cancel_request_free(request);
}

void pg_interrupt(struct pg *pg)
{
    struct cancel_request *request = atomic_exchange(&pg->cancel, NULL);

    if (request)
        submit(pg->store->canceller, request);
}

void canceller_destroy(struct canceller *canceller)
{
    if (!canceller)
        return;
    pthread_mutex_lock(&canceller->shared.mutex);
    canceller->shared.stopping = true;
    pthread_cond_signal(&canceller->shared.changed);
    pthread_mutex_unlock(&canceller->shared.mutex);
    pg_stop(canceller->pg);
    pthread_join(canceller->thread, NULL);
    release(canceller);
}
