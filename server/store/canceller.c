#include "store/canceller.h"

#include "base/log.h"
#include "store/pg_internal.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { CANCELLER_CAPACITY = 64 };

struct canceller {
    pthread_t thread;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        PGcancel *requests[CANCELLER_CAPACITY]; /* owned */
        int count;
        bool stopping;
    } shared;
};

static void *canceller_main(void *argument)
{
    struct canceller *canceller = argument;

    pthread_mutex_lock(&canceller->shared.mutex);
    while (!canceller->shared.stopping) {
        if (canceller->shared.count == 0) {
            pthread_cond_wait(&canceller->shared.changed, &canceller->shared.mutex);
            continue;
        }
        PGcancel *request = canceller->shared.requests[--canceller->shared.count];
        pthread_mutex_unlock(&canceller->shared.mutex);

        char text[256];
        if (!PQcancel(request, text, (int)sizeof text))
            log_debug("cancel request failed: %s", text);
        PQfreeCancel(request);

        pthread_mutex_lock(&canceller->shared.mutex);
    }
    pthread_mutex_unlock(&canceller->shared.mutex);
    return NULL;
}

struct canceller *canceller_create(void)
{
    struct canceller *canceller = calloc(1, sizeof *canceller);

    if (!canceller)
        return NULL;
    pthread_mutex_init(&canceller->shared.mutex, NULL);
    pthread_cond_init(&canceller->shared.changed, NULL);
    if (pthread_create(&canceller->thread, NULL, canceller_main, canceller) != 0) {
        pthread_cond_destroy(&canceller->shared.changed);
        pthread_mutex_destroy(&canceller->shared.mutex);
        free(canceller);
        return NULL;
    }
    return canceller;
}

void canceller_submit(struct canceller *canceller, PGcancel *cancel)
{
    bool taken = false;

    pthread_mutex_lock(&canceller->shared.mutex);
    if (canceller->shared.count < CANCELLER_CAPACITY) {
        canceller->shared.requests[canceller->shared.count++] = cancel;
        pthread_cond_signal(&canceller->shared.changed);
        taken = true;
    }
    pthread_mutex_unlock(&canceller->shared.mutex);
    if (!taken)
        PQfreeCancel(cancel);
}

void pg_interrupt(struct pg *pg)
{
    PGcancel *cancel = atomic_exchange(&pg->cancel, NULL);

    if (cancel)
        canceller_submit(pg->store->canceller, cancel);
}

void canceller_destroy(struct canceller *canceller)
{
    if (!canceller)
        return;
    pthread_mutex_lock(&canceller->shared.mutex);
    canceller->shared.stopping = true;
    pthread_cond_signal(&canceller->shared.changed);
    pthread_mutex_unlock(&canceller->shared.mutex);
    struct timespec patience;
    clock_gettime(CLOCK_REALTIME, &patience);
    patience.tv_sec += 2;
    if (pthread_timedjoin_np(canceller->thread, NULL, &patience) != 0) {
        log_warn("a cancel request hangs; left behind");
        return;
    }
    for (int i = 0; i < canceller->shared.count; i++)
        PQfreeCancel(canceller->shared.requests[i]);
    pthread_cond_destroy(&canceller->shared.changed);
    pthread_mutex_destroy(&canceller->shared.mutex);
    free(canceller);
}
