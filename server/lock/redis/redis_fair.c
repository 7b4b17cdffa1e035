/*
 * A lease lock in one Redis, taken in turn.
 *
 * SET NX PX with a 128-bit token (Redis documentation, "Distributed Locks with Redis"),
 * compare-and-delete on release, renewed by the renewer. Waiters stand in a sorted set by ticket. A
 * release hands the free lock to the first of them: it reserves it for a grace period and pushes
 * onto the waiter's own list, on which the waiter sleeps with BLPOP. It wakes all others,
 * too: one instance has one waiter, so they are few; they are told to try again at the end of the
 * grace, or, mostly, what the new holder's lease has left. So nobody polls, and an instance that
 * has just released cannot overtake.
 *
 * How it fails: a holder that dies keeps the lock until its lease ends, and the waiters sleep until
 * then; waiters that die in the queue cost one grace period; a wake-up that is lost costs at
 * most the wait that acquire was told. A Redis that loses its newest writes can give the lock to
 * two holders, and so can a pause longer than the lease: what runs under it needs a fence.
 */
#include "lock/lock.h"

#include "base/clock.h"
#include "base/log.h"
#include "lock/redis/redis_lock.h"
#include "lock/renewer.h"
#include "redis/redis.h"
#include "settings/settings.h"

#include <stdio.h>

enum { GRACE_MS = 50 };

struct names {
    char queue[REDIS_LOCK_NAME_SIZE];
    char next[REDIS_LOCK_NAME_SIZE];
    char tickets[REDIS_LOCK_NAME_SIZE];
    char wake_prefix[REDIS_LOCK_NAME_SIZE];
};

static void name_key(const struct lock_client *client, const struct lease *lease, const char *kind,
                     char out[REDIS_LOCK_NAME_SIZE])
{
    if (!redis_lock_name_beside(client, lease, kind, out))
        snprintf(out, REDIS_LOCK_NAME_SIZE, "%s:%s:%lld", client->settings->system_name, kind,
                 (long long)lease->key);
}

static void name_keys(const struct lock_client *client, const struct lease *lease,
                      struct names *names)
{
    name_key(client, lease, "lock-queue", names->queue);
    name_key(client, lease, "lock-next", names->next);
    name_key(client, lease, "lock-tickets", names->tickets);
    if (!redis_lock_name_beside(client, lease, "lock-wake", names->wake_prefix))
        snprintf(names->wake_prefix, sizeof names->wake_prefix,
                 "%s:lock-wake:", client->settings->system_name);
}

/* Asks once. *wait_ms is 0 when the lease is ours. */
static enum redis_status ask(struct lock_client *client, const struct names *names, bool queue_up,
                             struct lease *lease, int64_t *wait_ms)
{
    char ttl[REDIS_LOCK_TTL_SIZE];
    int64_t asked_us = clock_mono_us();

    redis_lock_ttl(client, ttl);
    enum redis_status status =
        redis_script(client->redis, LUA_LOCK_ACQUIRE, 4, 7,
                     (const char *const[]){lease->name, names->queue, names->next, names->tickets,
                                           lease->token, ttl, queue_up ? "1" : "0"},
                     asked_us + REDIS_LOCK_TIMEOUT_US, wait_ms);
    atomic_store(&lease->valid_until_us,
                 asked_us + client->settings->lock_ttl_ms * CLOCK_US_PER_MS);
    return status;
}

static enum redis_status give_back(struct lock_client *client, const struct names *names,
                                   const struct lease *lease, int64_t until_us, int64_t *owned)
{
    char grace[24];

    snprintf(grace, sizeof grace, "%d", GRACE_MS);
    return redis_script(client->redis, LUA_LOCK_RELEASE, 4, 7,
                        (const char *const[]){lease->name, names->queue, names->next,
                                              names->tickets, lease->token, grace,
                                              names->wake_prefix},
                        until_us, owned);
}

/* An answer was lost, so we may own the lock or stand in its queue: say once, on a new session,
 * that we do not want it. If that fails too, the lease ends it. */
static enum lock_result abandon(struct lock_client *client, const struct names *names,
                                const struct lease *lease)
{
    int64_t owned = 0;
    int64_t until_us = clock_mono_us() + REDIS_LOCK_TIMEOUT_US;

    log_debug("lock on product %lld: %s", (long long)lease->key, redis_error(client->redis)->text);
    if (redis_connect(client->redis, until_us))
        give_back(client, names, lease, until_us, &owned);
    return LOCK_UNKNOWN;
}

static enum lock_result fair_acquire(struct lock_client *client, int64_t key, bool once,
                                     int64_t until_us, struct lease *lease)
{
    struct names names;
    char wake[REDIS_LOCK_NAME_SIZE + RANDOM_TOKEN_LENGTH];

    lease_begin(client, &lock_redis_fair, key, lease);
    lease->renewal = LUA_LOCK_RENEW;
    name_keys(client, lease, &names);
    snprintf(wake, sizeof wake, "%s%s", names.wake_prefix, lease->token);

    for (;;) {
        int64_t wait_ms = 0;
        bool woken;
        if (ask(client, &names, !once, lease, &wait_ms) != REDIS_OK) {
            if (once || clock_mono_us() >= until_us || !redis_is_moving(client->redis))
                return abandon(client, &names, lease);
            continue;
        }
        if (wait_ms == 0) {
            renewer_watch(client->renewer, lease);
            return LOCK_OWNED;
        }
        int64_t now = clock_mono_us();
        if (once || now >= until_us)
            break;
        int64_t retry_us = clock_earlier(now + wait_ms * CLOCK_US_PER_MS, until_us);
        if (redis_wait(client->redis, wake, retry_us, &woken) != REDIS_OK)
            return abandon(client, &names, lease);
    }
    int64_t owned = 0;
    if (!once && give_back(client, &names, lease, clock_mono_us() + REDIS_LOCK_TIMEOUT_US,
                           &owned) != REDIS_OK)
        return abandon(client, &names, lease);
    return LOCK_BUSY;
}

static enum lock_release fair_release(struct lock_client *client, struct lease *lease,
                                      int64_t until_us)
{
    struct names names;
    int64_t owned = 0;

    renewer_forget(client->renewer, lease);
    name_keys(client, lease, &names);
    if (!redis_connect(client->redis, until_us) ||
        give_back(client, &names, lease, until_us, &owned) != REDIS_OK)
        return LOCK_RELEASE_UNKNOWN;
    return owned ? LOCK_RELEASED : LOCK_NOT_OWNER;
}

const struct lock lock_redis_fair = {
    .name = "redis-fair",
    .acquire = fair_acquire,
    .release = fair_release,
};
