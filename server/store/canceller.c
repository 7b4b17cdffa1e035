#include "store/canceller.h"

#include "base/log.h"
#include "store/pg_internal.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { CANCELLER_CAPACITY = 64 };

struct cancel_request {
    int pid;
    char port[8];
    char address[64]; /* "": a unix socket */
    char host[256];
};

struct canceller {
    const char *conninfo; /* borrowed */
    pthread_t thread;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        struct cancel_request *requests[CANCELLER_CAPACITY]; /* owned */
        int count;
        bool stopping;
    } shared;
};

struct cancel_request *cancel_request_create(const PGconn *conn)
{
    struct cancel_request *request = calloc(1, sizeof *request);
    const char *address = PQhostaddr(conn);

    if (!request)
        return NULL;
    request->pid = PQbackendPID(conn);
    snprintf(request->host, sizeof request->host, "%s", PQhost(conn));
    snprintf(request->address, sizeof request->address, "%s", address ? address : "");
    snprintf(request->port, sizeof request->port, "%s", PQport(conn));
    return request;
}

void cancel_request_free(struct cancel_request *request)
{
    free(request);
}

/* The session's own server, where there are several. What is "" says nothing. */
static PGconn *connect_to_server(const char *conninfo, const struct cancel_request *request)
{
    const char *const keys[] = {
        "dbname", "fallback_application_name", "connect_timeout", "host", "hostaddr", "port", NULL};
    const char *const values[] = {conninfo,         "seckill-canceller", "2", request->host,
                                  request->address, request->port,       NULL};

    return PQconnectdbParams(keys, values, 1);
}

/* In one statement with the look: what has begun to commit in between is not met. */
static void carry_out(const char *conninfo, const struct cancel_request *request)
{
    static const char text[] = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
                               " WHERE pid = $1::int AND wait_event_type = 'Lock'";
    char pid[16];
    const char *const values[] = {pid};

    snprintf(pid, sizeof pid, "%d", request->pid);
    PGconn *conn = connect_to_server(conninfo, request);
    PGresult *result = PQexecParams(conn, text, 1, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        log_debug("a statement was not cancelled: %s", PQerrorMessage(conn));
    PQclear(result);
    PQfinish(conn);
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
        carry_out(canceller->conninfo, request);
        cancel_request_free(request);
        pthread_mutex_lock(&canceller->shared.mutex);
    }
    pthread_mutex_unlock(&canceller->shared.mutex);
    return NULL;
}

struct canceller *canceller_create(const char *conninfo)
{
    struct canceller *canceller = calloc(1, sizeof *canceller);

    if (!canceller)
        return NULL;
    canceller->conninfo = conninfo;
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

void canceller_submit(struct canceller *canceller, struct cancel_request *request)
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
        canceller_submit(pg->store->canceller, request);
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
        cancel_request_free(canceller->shared.requests[i]);
    pthread_cond_destroy(&canceller->shared.changed);
    pthread_mutex_destroy(&canceller->shared.mutex);
    free(canceller);
}
