#include "postgres/connect/canceller.h"

#include "base/clock.h"
#include "base/log.h"
#include "postgres/pg_internal.h"

#include <pthread.h>
#include <stdlib.h>

enum { TIMEOUT_US = 2000000 };

struct canceller {
    struct pg *pg; /* owned; the thread's */
    pthread_t thread;
};

/* On the session's own server, where there are several. */
static void carry_out(struct pg *pg, const struct cancel_request *request)
{
    int64_t until_us = clock_mono_us() + TIMEOUT_US;

    if (!pg_open_at(pg, &request->at, until_us) ||
        pg_exec(pg, SQL_CANCEL_WAITING, PG_ARGS(pg_int8(request->pid)), until_us) != PG_OK)
        log_debug("a statement was not cancelled: %s", pg_error(pg)->text);
    pg_close(pg);
}

static void *canceller_main(void *argument)
{
    struct canceller *canceller = argument;

    for (struct cancel_request *request;
         (request = cancels_take(&canceller->pg->store->cancels));) {
        carry_out(canceller->pg, request);
        cancel_request_free(request);
    }
    return NULL;
}

static void release(struct canceller *canceller)
{
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
    if (!canceller->pg ||
        pthread_create(&canceller->thread, NULL, canceller_main, canceller) != 0) {
        release(canceller);
        return NULL;
    }
    return canceller;
}

void canceller_destroy(struct canceller *canceller)
{
    if (!canceller)
        return;
    cancels_stop(&canceller->pg->store->cancels);
    pg_stop(canceller->pg);
    pthread_join(canceller->thread, NULL);
    release(canceller);
}
