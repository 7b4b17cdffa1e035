/*
 * Happy path: one script takes the lock; it answers 0, or how long the holder's lease has left. A
 * waiter subscribes to releases, asks once more, so that it misses none, and sleeps no longer than
 * that lease.
 *
 * Failure mode: a reply is lost. The answer is UNKNOWN, and the lock, if it was taken, is released
 * by its token.
 */
#include "lock/reentrant.h"

#include "base/clock.h"
#include "settings/settings.h"

#include <stdio.h>

/* Where a release says that the lock is free. */
static void name_channel(const struct lock_client *client, const struct lease *lease,
                         char out[REDIS_LOCK_NAME_SIZE])
{
    if (!redis_lock_name_beside(client, lease, "lock-free", out))
        snprintf(out, REDIS_LOCK_NAME_SIZE, "%s:free", lease->name);
}

enum redis_status reentrant_ask(struct lock_client *client, struct lease *lease, int64_t until_us,
                                int64_t *left_ms)
{
    char ttl[REDIS_LOCK_TTL_SIZE];
    int64_t asked_us = clock_mono_us();

    redis_lock_ttl(client, ttl);
    enum redis_status status =
        redis_script(client->redis, LUA_REENTRANT_ACQUIRE, 1, 3,
                     (const char *const[]){lease->name, lease->token, ttl}, until_us, left_ms);
    if (status == REDIS_OK && *left_ms == 0)
        atomic_store(&lease->valid_until_us,
                     asked_us + client->settings->lock_ttl_ms * CLOCK_US_PER_MS);
    return status;
}

enum lock_result reentrant_reenter(struct lock_client *client, struct lease *lease)
{
    int64_t left_ms = 0;
    int64_t until_us = clock_mono_us() + REDIS_LOCK_TIMEOUT_US;

    if (!redis_connect(client->redis, until_us) ||
        reentrant_ask(client, lease, until_us, &left_ms) != REDIS_OK)
        return LOCK_UNKNOWN;
    return left_ms == 0 ? LOCK_OWNED : LOCK_BUSY;
}

enum lock_release reentrant_release(struct lock_client *client, struct lease *lease,
                                    int64_t until_us)
{
    char ttl[REDIS_LOCK_TTL_SIZE];
    char channel[REDIS_LOCK_NAME_SIZE];
    int64_t answer = REDIS_NIL;

    redis_lock_ttl(client, ttl);
    if (!redis_connect(client->redis, until_us))
        return LOCK_RELEASE_UNKNOWN;
    name_channel(client, lease, channel);
    if (redis_script(client->redis, LUA_REENTRANT_RELEASE, 1, 5,
                     (const char *const[]){lease->name, lease->token, ttl, channel,
                                           redis_publish_command(client->redis)},
                     until_us, &answer) != REDIS_OK)
        return LOCK_RELEASE_UNKNOWN;
    return answer == REDIS_NIL ? LOCK_NOT_OWNER : LOCK_RELEASED;
}

/* Sleeps until somebody says that the lock is free, or `until_us`. */
static enum redis_status wait(struct lock_client *client, const struct lease *lease,
                              bool *subscribed, int64_t until_us)
{
    char channel[REDIS_LOCK_NAME_SIZE];
    bool heard = false;

    if (*subscribed)
        return redis_hear(client->redis, until_us, &heard);
    name_channel(client, lease, channel);
    *subscribed = true;
    return redis_subscribe(client->redis, channel, clock_mono_us() + REDIS_LOCK_TIMEOUT_US);
}

/* REDIS_OK with *owned false: the time is over. */
static enum redis_status take(struct lock_client *client, bool once, int64_t until_us,
                              struct lease *lease, bool *subscribed, bool *owned)
{
    for (;;) {
        int64_t left_ms = 0;
        int64_t now_us = clock_mono_us();
        enum redis_status status =
            reentrant_ask(client, lease, now_us + REDIS_LOCK_TIMEOUT_US, &left_ms);

        *owned = status == REDIS_OK && left_ms == 0;
        if (status != REDIS_OK || *owned || once || now_us >= until_us)
            return status;
        int64_t free_us = now_us + left_ms * CLOCK_US_PER_MS;
        status = wait(client, lease, subscribed, free_us < until_us ? free_us : until_us);
        if (status != REDIS_OK)
            return status;
    }
}

enum lock_result reentrant_wait(struct lock_client *client, bool once, int64_t until_us,
                                struct lease *lease)
{
    bool subscribed = false;
    bool owned = false;
    enum redis_status status = take(client, once, until_us, lease, &subscribed, &owned);
    int64_t timeout_us = clock_mono_us() + REDIS_LOCK_TIMEOUT_US;

    if (subscribed)
        redis_unsubscribe(client->redis, timeout_us);
    if (status == REDIS_OK)
        return owned ? LOCK_OWNED : LOCK_BUSY;
    reentrant_release(client, lease, timeout_us);
    return LOCK_UNKNOWN;
}
