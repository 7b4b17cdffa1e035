#include "postgres/connect/cancels.h"

#include <stdlib.h>

void cancels_init(struct cancels *cancels)
{
    pthread_mutex_init(&cancels->mutex, NULL);
    pthread_cond_init(&cancels->changed, NULL);
}

void cancels_fini(struct cancels *cancels)
{
    for (int i = 0; i < cancels->count; i++)
        cancel_request_free(cancels->requests[i]);
    pthread_cond_destroy(&cancels->changed);
    pthread_mutex_destroy(&cancels->mutex);
}

struct cancel_request *cancel_request_create(int pid, const struct host_address *at)
{
    struct cancel_request *request = calloc(1, sizeof *request);

    if (request)
        *request = (struct cancel_request){pid, *at};
    return request;
}

void cancel_request_free(struct cancel_request *request)
{
    free(request);
}

struct cancel_request *cancels_take(struct cancels *cancels)
{
    struct cancel_request *request = NULL;

    pthread_mutex_lock(&cancels->mutex);
    while (cancels->count == 0 && !cancels->stopping)
        pthread_cond_wait(&cancels->changed, &cancels->mutex);
    if (!cancels->stopping)
        request = cancels->requests[--cancels->count];
    pthread_mutex_unlock(&cancels->mutex);
    return request;
}

void cancels_stop(struct cancels *cancels)
{
    pthread_mutex_lock(&cancels->mutex);
    cancels->stopping = true;
    pthread_cond_signal(&cancels->changed);
    pthread_mutex_unlock(&cancels->mutex);
}

void cancels_put(struct cancels *cancels, struct cancel_request *request)
{
    pthread_mutex_lock(&cancels->mutex);
    bool taken = request->pid && cancels->count < CANCELS_MAX;
    if (taken) {
        cancels->requests[cancels->count++] = request;
        pthread_cond_signal(&cancels->changed);
    }
    pthread_mutex_unlock(&cancels->mutex);
    if (!taken)
        cancel_request_free(request);
}
