/*
 * The thread sleeps until the first lease is due, renews it without the mutex, and marks it lost
 * when the owner check says no or its end comes unrenewed. renewer_forget waits while its lease is
 * being renewed, so that afterwards nobody looks at it.
 */
#include "lock/renewer.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "redis/redis.h"
#include "settings/settings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct renewer {
    const struct settings *settings; /* borrowed: app */
    struct redis *redis;             /* owned; the thread's */
    pthread_t thread;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        struct lease *leases;
        struct lease *busy; /* being renewed without the mutex; must not go away */
        bool stopping;
    } shared;
};

static int64_t lease_us(const struct renewer *renewer)
{
    return renewer->settings->lock_ttl_ms * CLOCK_US_PER_MS;
}

/* The lease that is due first, and when. One that failed waits a moment, so that a dead Redis is
 * not asked in a loop, and those with another node of a cluster come in between. */
static struct lease *first_due(const struct renewer *renewer, int64_t *due_us)
{
    struct lease *first = NULL;

    for (struct lease *lease = renewer->shared.leases; lease; lease = lease->next) {
        if (atomic_load(&lease->lost))
            continue;
        int64_t due = atomic_load(&lease->valid_until_us) - lease_us(renewer) * 2 / 3;
        if (due < lease->retry_us)
            due = lease->retry_us;
        if (!first || due < *due_us) {
            first = lease;
            *due_us = due;
        }
    }
    return first;
}

/* Runs without the mutex. Answers whether the lease may be tried again, and when, through
 * `retry_us`. */
static void renew(struct renewer *renewer, struct lease *lease)
{
    FAILPOINT("renewer.renew");
    char ttl[24];
    int64_t now = clock_mono_us();
    int64_t ends_us = atomic_load(&lease->valid_until_us);
    int64_t until_us =
        now + lease_us(renewer) / 3 < ends_us ? now + lease_us(renewer) / 3 : ends_us;
    int64_t renewed = -1;

    snprintf(ttl, sizeof ttl, "%lld", (long long)renewer->settings->lock_ttl_ms);
    if (now < lease->renew_until_us && redis_connect(renewer->redis, until_us))
        redis_script(renewer->redis, lease->renewal, 1, 3,
                     (const char *const[]){lease->name, lease->token, ttl}, until_us, &renewed);
    if (renewed == 1)
        atomic_store(&lease->valid_until_us, now + lease_us(renewer));
    else if (renewed == 0 || clock_mono_us() >= ends_us)
        atomic_store(&lease->lost, true);
    else
        lease->retry_us = clock_mono_us() + lease_us(renewer) / 30;
    if (!atomic_load(&lease->lost))
        return;
    log_warn("the lease on product %lld was lost", (long long)lease->key);
    if (lease->on_lost)
        lease->on_lost(lease->on_lost_context);
}

static void *renewer_main(void *argument)
{
    struct renewer *renewer = argument;

    pthread_mutex_lock(&renewer->shared.mutex);
    while (!renewer->shared.stopping) {
        int64_t due_us = 0;
        struct lease *lease = first_due(renewer, &due_us);
        if (!lease) {
            pthread_cond_wait(&renewer->shared.changed, &renewer->shared.mutex);
        } else if (due_us > clock_mono_us()) {
            struct timespec due = clock_timespec(due_us);
            pthread_cond_timedwait(&renewer->shared.changed, &renewer->shared.mutex, &due);
        } else {
            renewer->shared.busy = lease;
            pthread_mutex_unlock(&renewer->shared.mutex);
            renew(renewer, lease);
            pthread_mutex_lock(&renewer->shared.mutex);
            renewer->shared.busy = NULL;
            pthread_cond_broadcast(&renewer->shared.changed);
        }
    }
    pthread_mutex_unlock(&renewer->shared.mutex);
    return NULL;
}

struct renewer *renewer_create(struct redis_server *server, const struct settings *settings)
{
    struct renewer *renewer = calloc(1, sizeof *renewer);

    if (!renewer)
        return NULL;
    renewer->settings = settings;
    renewer->redis = redis_create(server);
    pthread_mutex_init(&renewer->shared.mutex, NULL);
    clock_cond_init(&renewer->shared.changed);
    if (!renewer->redis || pthread_create(&renewer->thread, NULL, renewer_main, renewer) != 0) {
        pthread_cond_destroy(&renewer->shared.changed);
        pthread_mutex_destroy(&renewer->shared.mutex);
        redis_destroy(renewer->redis);
        free(renewer);
        return NULL;
    }
    return renewer;
}

void renewer_watch(struct renewer *renewer, struct lease *lease)
{
    pthread_mutex_lock(&renewer->shared.mutex);
    lease->retry_us = 0;
    lease->next = renewer->shared.leases;
    renewer->shared.leases = lease;
    pthread_cond_broadcast(&renewer->shared.changed);
    pthread_mutex_unlock(&renewer->shared.mutex);
}

void renewer_forget(struct renewer *renewer, struct lease *lease)
{
    pthread_mutex_lock(&renewer->shared.mutex);
    for (struct lease **at = &renewer->shared.leases; *at; at = &(*at)->next)
        if (*at == lease) {
            *at = lease->next;
            break;
        }
    while (renewer->shared.busy == lease)
        pthread_cond_wait(&renewer->shared.changed, &renewer->shared.mutex);
    pthread_mutex_unlock(&renewer->shared.mutex);
}

void renewer_destroy(struct renewer *renewer)
{
    if (!renewer)
        return;
    pthread_mutex_lock(&renewer->shared.mutex);
    renewer->shared.stopping = true;
    pthread_cond_broadcast(&renewer->shared.changed);
    pthread_mutex_unlock(&renewer->shared.mutex);
    pthread_join(renewer->thread, NULL);
    pthread_cond_destroy(&renewer->shared.changed);
    pthread_mutex_destroy(&renewer->shared.mutex);
    redis_destroy(renewer->redis);
    free(renewer);
}
