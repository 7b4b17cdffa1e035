/*
 * Calls to ZooKeeper with a deadline: the library calls back, the worker waits on our condition. A
 * call that is given up leaves its memory to its callback, which comes in any case, be it when the
 * session is closed.
 */
#include "lock/zookeeper/zookeeper_internal.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_PATIENCE_US = 2000000 };

/* The library's half of a call, and the worker's. */
struct call {
    struct keeper *keeper;
    bool done;
    bool given_up;
    int code;
    char path[KEEPER_PATH_MAX + 1];
    struct keeper_names names;
};

static void free_call(struct call *call)
{
    keeper_names_fini(&call->names);
    free(call);
}

void keeper_names_fini(struct keeper_names *names)
{
    for (int i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct keeper_names){NULL, 0};
}

/* All of them or an error: who misses one may take themselves for the first. */
static int copy_names(struct keeper_names *to, const struct String_vector *from)
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
    struct keeper *keeper = call->keeper;
    call->code = code;
    if (code == ZOK && path)
        snprintf(call->path, sizeof call->path, "%s", path);
    if (code == ZOK && names)
        call->code = copy_names(&call->names, names);
    pthread_mutex_lock(&keeper->mutex);
    bool given_up = call->given_up;
    call->done = true;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->mutex);
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

/* With the mutex held: NULL and no connection, or out of memory. */
static struct call *begin_call(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->mutex);
    struct call *call = keeper->connected ? calloc(1, sizeof *call) : NULL;
    if (call)
        call->keeper = keeper;
    return call;
}

/* Waits for what was `sent` and lets go of the mutex. *call is the caller's to free, or NULL. */
static int end_call(struct keeper *keeper, struct call **call, int sent, int64_t until_us)
{
    int code = sent;

    if (*call && sent != ZOK) {
        free_call(*call);
        *call = NULL;
    }
    if (*call) {
        while (!(*call)->done && clock_mono_us() < until_us)
            keeper_wait_changed(keeper, until_us);
        code = (*call)->done ? (*call)->code : ZOPERATIONTIMEOUT;
        (*call)->given_up = !(*call)->done;
        if ((*call)->given_up)
            *call = NULL;
    }
    if (code != ZOK)
        keeper->why = zerror(code);
    pthread_mutex_unlock(&keeper->mutex);
    return code;
}

int keeper_add(struct keeper *keeper, const char *path, int mode, char *created)
{
    struct call *call = begin_call(keeper);
    int sent =
        call ? zoo_acreate(keeper->handle, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, mode, on_text, call)
             : ZCONNECTIONLOSS;
    int code = end_call(keeper, &call, sent, clock_mono_us() + CALL_PATIENCE_US);

    if (code == ZOK && created)
        memcpy(created, call->path, sizeof call->path);
    if (call)
        free_call(call);
    return code;
}

int keeper_delete(struct keeper *keeper, const char *path)
{
    struct call *call = begin_call(keeper);
    int sent = call ? zoo_adelete(keeper->handle, path, -1, on_nothing, call) : ZCONNECTIONLOSS;
    int code = end_call(keeper, &call, sent, clock_mono_us() + CALL_PATIENCE_US);

    if (call)
        free_call(call);
    return code;
}

int keeper_children(struct keeper *keeper, const char *path, struct keeper_names *out)
{
    struct call *call = begin_call(keeper);
    int sent = call ? zoo_aget_children(keeper->handle, path, 0, on_names, call) : ZCONNECTIONLOSS;
    int code = end_call(keeper, &call, sent, clock_mono_us() + CALL_PATIENCE_US);

    *out = (struct keeper_names){NULL, 0};
    if (call) {
        *out = call->names;
        call->names = (struct keeper_names){NULL, 0};
        free_call(call);
    }
    return code;
}

static void on_node(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct keeper *keeper = context;

    (void)handle, (void)state;
    if (type == ZOO_SESSION_EVENT)
        return;
    pthread_mutex_lock(&keeper->mutex);
    for (struct waiter *waiter = keeper->waiters; waiter; waiter = waiter->next)
        if (strcmp(waiter->path, path) == 0)
            waiter->gone = true;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->mutex);
}

/* Reads the node, and not whether it exists: a watch on what exists not would stay for ever. */
static int watch(struct keeper *keeper, const char *path)
{
    struct call *call = begin_call(keeper);
    int sent =
        call ? zoo_awget(keeper->handle, path, on_node, keeper, on_value, call) : ZCONNECTIONLOSS;
    int code = end_call(keeper, &call, sent, clock_mono_us() + CALL_PATIENCE_US);

    if (call)
        free_call(call);
    return code;
}

int keeper_await_gone(struct keeper *keeper, const char *path, unsigned loss, int64_t until_us)
{
    struct waiter waiter = {.path = path};

    pthread_mutex_lock(&keeper->mutex);
    waiter.next = keeper->waiters;
    /* It is taken out again below. */
    /* cppcheck-suppress autoVariables */
    keeper->waiters = &waiter;
    pthread_mutex_unlock(&keeper->mutex);
    int code = watch(keeper, path);
    pthread_mutex_lock(&keeper->mutex);
    while (code == ZOK && !waiter.gone && keeper->losses == loss && clock_mono_us() < until_us)
        keeper_wait_changed(keeper, until_us);
    struct waiter **at = &keeper->waiters;
    while (*at != &waiter)
        at = &(*at)->next;
    *at = waiter.next;
    if (keeper->losses != loss)
        code = ZCONNECTIONLOSS;
    else if (code == ZNONODE)
        code = ZOK;
    else if (code == ZOK && !waiter.gone)
        code = ZOPERATIONTIMEOUT;
    pthread_mutex_unlock(&keeper->mutex);
    return code;
}
