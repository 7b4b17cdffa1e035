/*
 * Calls to ZooKeeper with a deadline: the worker waits on a condition until the library calls back.
 *
 * Failure mode: the deadline passes first. The worker goes on, and the callback, which comes at the
 * latest when the session is closed, frees the call.
 */
#include "lock/zookeeper/zookeeper_internal.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_TIMEOUT_US = 2000000 };

/* The library's half of a call, and the worker's. */
struct call {
    struct zookeeper *zookeeper;
    bool done;
    bool given_up;
    int code;
    char path[ZOOKEEPER_PATH_MAX + 1];
    struct zookeeper_names names;
};

static void free_call(struct call *call)
{
    zookeeper_names_fini(&call->names);
    free(call);
}

void zookeeper_names_fini(struct zookeeper_names *names)
{
    for (int i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct zookeeper_names){NULL, 0};
}

/* All names or an error: a waiter that misses a name may take its own node for the first. */
static int copy_names(struct zookeeper_names *to, const struct String_vector *from)
{
    to->names = calloc((size_t)from->count + 1, sizeof *to->names);
    while (to->names && to->count < from->count) {
        to->names[to->count] = strdup(from->data[to->count]);
        if (!to->names[to->count])
            break;
        to->count++;
    }
    return to->names && to->count == from->count ? ZOK : ZSYSTEMERROR;
}

/* Every callback ends here. */
static void complete(const void *data, int code, const char *path,
                     const struct String_vector *names)
{
    struct call *call;

    memcpy(&call, &data, sizeof call); /* it came as a const void * */
    struct zookeeper *zookeeper = call->zookeeper;
    call->code = code;
    if (code == ZOK && path)
        snprintf(call->path, sizeof call->path, "%s", path);
    if (code == ZOK && names)
        call->code = copy_names(&call->names, names);
    pthread_mutex_lock(&zookeeper->mutex);
    bool given_up = call->given_up;
    call->done = true;
    pthread_cond_broadcast(&zookeeper->changed);
    pthread_mutex_unlock(&zookeeper->mutex);
    if (given_up)
        free_call(call);
}

static void on_text(int code, const char *path, const void *data)
{
    complete(data, code, path, NULL);
}

static void on_nothing(int code, const void *data)
{
    complete(data, code, NULL, NULL);
}

static void on_names(int code, const struct String_vector *names, const void *data)
{
    complete(data, code, NULL, names);
}

static void on_value(int code, const char *value, int length, const struct Stat *stat,
                     const void *data)
{
    (void)value, (void)length, (void)stat;
    complete(data, code, NULL, NULL);
}

/* Locks the mutex. NULL: there is no connection, or no memory. */
static struct call *begin_call(struct zookeeper *zookeeper)
{
    pthread_mutex_lock(&zookeeper->mutex);
    struct call *call = zookeeper->connected ? calloc(1, sizeof *call) : NULL;
    if (call)
        call->zookeeper = zookeeper;
    return call;
}

/* Waits for the answer and unlocks the mutex. The caller frees *call, which may be NULL. */
static int end_call(struct zookeeper *zookeeper, struct call **call, int sent, int64_t until_us)
{
    int code = sent;

    if (*call && sent != ZOK) {
        free_call(*call);
        *call = NULL;
    }
    if (*call) {
        while (!(*call)->done && clock_mono_us() < until_us)
            zookeeper_wait_changed(zookeeper, until_us);
        code = (*call)->done ? (*call)->code : ZOPERATIONTIMEOUT;
        (*call)->given_up = !(*call)->done;
        if ((*call)->given_up)
            *call = NULL;
    }
    if (code != ZOK)
        zookeeper->why = zerror(code);
    pthread_mutex_unlock(&zookeeper->mutex);
    return code;
}

int zookeeper_add(struct zookeeper *zookeeper, const char *path, int mode, char *created)
{
    struct call *call = begin_call(zookeeper);
    int sent = call ? zoo_acreate(zookeeper->handle, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, mode,
                                  on_text, call)
                    : ZCONNECTIONLOSS;
    int code = end_call(zookeeper, &call, sent, clock_mono_us() + CALL_TIMEOUT_US);

    if (code == ZOK && created)
        memcpy(created, call->path, sizeof call->path);
    if (call)
        free_call(call);
    return code;
}

int zookeeper_delete(struct zookeeper *zookeeper, const char *path)
{
    struct call *call = begin_call(zookeeper);
    int sent = call ? zoo_adelete(zookeeper->handle, path, -1, on_nothing, call) : ZCONNECTIONLOSS;
    int code = end_call(zookeeper, &call, sent, clock_mono_us() + CALL_TIMEOUT_US);

    if (call)
        free_call(call);
    return code;
}

int zookeeper_children(struct zookeeper *zookeeper, const char *path, struct zookeeper_names *out)
{
    struct call *call = begin_call(zookeeper);
    int sent =
        call ? zoo_aget_children(zookeeper->handle, path, 0, on_names, call) : ZCONNECTIONLOSS;
    int code = end_call(zookeeper, &call, sent, clock_mono_us() + CALL_TIMEOUT_US);

    *out = (struct zookeeper_names){NULL, 0};
    if (call) {
        *out = call->names;
        call->names = (struct zookeeper_names){NULL, 0};
        free_call(call);
    }
    return code;
}

static void on_node(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct zookeeper *zookeeper = context;

    (void)handle, (void)state;
    if (type == ZOO_SESSION_EVENT)
        return;
    pthread_mutex_lock(&zookeeper->mutex);
    for (struct waiter *waiter = zookeeper->waiters; waiter; waiter = waiter->next)
        if (strcmp(waiter->path, path) == 0)
            waiter->gone = true;
    pthread_cond_broadcast(&zookeeper->changed);
    pthread_mutex_unlock(&zookeeper->mutex);
}

/* Watches by reading the node: a watch by "exists" on a node that is gone would stay for ever. */
static int watch(struct zookeeper *zookeeper, const char *path)
{
    struct call *call = begin_call(zookeeper);
    int sent = call ? zoo_awget(zookeeper->handle, path, on_node, zookeeper, on_value, call)
                    : ZCONNECTIONLOSS;
    int code = end_call(zookeeper, &call, sent, clock_mono_us() + CALL_TIMEOUT_US);

    if (call)
        free_call(call);
    return code;
}

int zookeeper_await_gone(struct zookeeper *zookeeper, const char *path, unsigned loss,
                         int64_t until_us)
{
    struct waiter waiter = {.path = path};

    pthread_mutex_lock(&zookeeper->mutex);
    waiter.next = zookeeper->waiters;
    /* It is taken out again below. */
    /* cppcheck-suppress autoVariables */
    zookeeper->waiters = &waiter;
    pthread_mutex_unlock(&zookeeper->mutex);
    int code = watch(zookeeper, path);
    pthread_mutex_lock(&zookeeper->mutex);
    while (code == ZOK && !waiter.gone && zookeeper->losses == loss && clock_mono_us() < until_us)
        zookeeper_wait_changed(zookeeper, until_us);
    struct waiter **at = &zookeeper->waiters;
    while (*at != &waiter)
        at = &(*at)->next;
    *at = waiter.next;
    if (zookeeper->losses != loss)
        code = ZCONNECTIONLOSS;
    else if (code == ZNONODE)
        code = ZOK;
    else if (code == ZOK && !waiter.gone)
        code = ZOPERATIONTIMEOUT;
    pthread_mutex_unlock(&zookeeper->mutex);
    return code;
}
