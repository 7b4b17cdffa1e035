/*
 * A lookup is counted: by its thread, and by each who waits for it. The last of them frees it, so
 * an answer that nobody waits for any more is dropped by the thread. The resolver is counted, too:
 * by its owner and by each lookup's thread.
 */
#include "base/connect/resolver.h"

#include "base/clock.h"
#include "base/failpoint.h"

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { STOP_SEEN_US = 100000 };

struct lookup {
    struct lookup *next;
    struct resolver *resolver; /* counted */
    char name[RESOLVER_NAME_SIZE];
    int holders;
    bool done;
    int failed; /* getaddrinfo's, with `done` */
    struct resolved found;
};

struct resolver {
    pthread_mutex_t mutex; /* of all below, and of the lookups */
    pthread_cond_t answered;
    struct lookup *running;
    int holders;
};

struct resolver *resolver_create(void)
{
    struct resolver *resolver = calloc(1, sizeof *resolver);

    if (!resolver)
        return NULL;
    pthread_mutex_init(&resolver->mutex, NULL);
    clock_cond_init(&resolver->answered);
    resolver->holders = 1;
    return resolver;
}

static void leave(struct resolver *resolver)
{
    pthread_mutex_lock(&resolver->mutex);
    bool last = --resolver->holders == 0;
    pthread_mutex_unlock(&resolver->mutex);
    if (!last)
        return;
    pthread_cond_destroy(&resolver->answered);
    pthread_mutex_destroy(&resolver->mutex);
    free(resolver);
}

void resolver_destroy(struct resolver *resolver)
{
    if (resolver)
        leave(resolver);
}

/* With the mutex held. */
static void let_go(struct lookup *lookup)
{
    if (--lookup->holders == 0)
        free(lookup);
}

/* getaddrinfo's answer. */
static int look_up(const char *name, int flags, struct resolved *out)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(name, NULL, &hints, &found);

    out->count = 0;
    if (failed)
        return failed;
    for (const struct addrinfo *at = found; at && out->count < RESOLVER_ADDRESSES_MAX;
         at = at->ai_next)
        if (getnameinfo(at->ai_addr, at->ai_addrlen, out->addresses[out->count],
                        RESOLVER_ADDRESS_SIZE, NULL, 0, NI_NUMERICHOST) == 0)
            out->count++;
    freeaddrinfo(found);
    return out->count > 0 ? 0 : EAI_NONAME;
}

bool resolver_is_numeric(const char *name, char out[RESOLVER_ADDRESS_SIZE])
{
    struct resolved found;

    if (look_up(name, AI_NUMERICHOST, &found) != 0)
        return false;
    snprintf(out, RESOLVER_ADDRESS_SIZE, "%s", found.addresses[0]);
    return true;
}

static void *lookup_main(void *argument)
{
    struct lookup *lookup = argument;
    struct resolver *resolver = lookup->resolver;
    struct resolved found;

    FAILPOINT("resolver.ask");
    int failed = look_up(lookup->name, 0, &found);
    pthread_mutex_lock(&resolver->mutex);
    lookup->failed = failed;
    lookup->found = found;
    lookup->done = true;
    struct lookup **at = &resolver->running;
    while (*at != lookup)
        at = &(*at)->next;
    *at = lookup->next;
    pthread_cond_broadcast(&resolver->answered);
    let_go(lookup);
    pthread_mutex_unlock(&resolver->mutex);
    leave(resolver);
    return NULL;
}

/* With the mutex held. NULL: there is no memory, or no thread, for it. */
static struct lookup *begin(struct resolver *resolver, const char *name)
{
    struct lookup *lookup = calloc(1, sizeof *lookup);
    pthread_attr_t detached;
    pthread_t thread;

    if (!lookup)
        return NULL;
    snprintf(lookup->name, sizeof lookup->name, "%s", name);
    lookup->resolver = resolver;
    lookup->holders = 1;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    bool started = pthread_create(&thread, &detached, lookup_main, lookup) == 0;
    pthread_attr_destroy(&detached);
    if (!started) {
        free(lookup);
        return NULL;
    }
    resolver->holders++;
    lookup->next = resolver->running;
    resolver->running = lookup;
    return lookup;
}

/* With the mutex held: waits for the answer. */
static void await(struct resolver *resolver, const struct lookup *lookup, int64_t until_us,
                  const atomic_bool *stopped)
{
    int64_t now_us = clock_mono_us();

    while (!lookup->done && now_us < until_us &&
           !(stopped && atomic_load_explicit(stopped, memory_order_relaxed))) {
        struct timespec turn = clock_timespec(clock_earlier(until_us, now_us + STOP_SEEN_US));
        pthread_cond_timedwait(&resolver->answered, &resolver->mutex, &turn);
        now_us = clock_mono_us();
    }
}

static bool take_answer(const struct lookup *lookup, const char *name, struct resolved *out,
                        struct error *error)
{
    if (!lookup)
        return error_set(error, ERROR_UNAVAILABLE, "no thread to look up host name \"%s\"", name);
    if (!lookup->done)
        return error_set(error, ERROR_TIMEOUT, "no address of host name \"%s\" in time", name);
    if (lookup->failed)
        return error_set(error, ERROR_UNAVAILABLE,
                         "could not translate host name \"%s\" to address: %s", name,
                         gai_strerror(lookup->failed));
    *out = lookup->found;
    return true;
}

bool resolver_ask(struct resolver *resolver, const char *name, int64_t until_us,
                  const atomic_bool *stopped, struct resolved *out, struct error *error)
{
    pthread_mutex_lock(&resolver->mutex);
    struct lookup *lookup = resolver->running;
    while (lookup && strcmp(lookup->name, name) != 0)
        lookup = lookup->next;
    if (!lookup)
        lookup = begin(resolver, name);
    if (lookup) {
        lookup->holders++;
        await(resolver, lookup, until_us, stopped);
    }
    bool found = take_answer(lookup, name, out, error);
    if (lookup)
        let_go(lookup);
    pthread_mutex_unlock(&resolver->mutex);
    return found;
}
