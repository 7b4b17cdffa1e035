/*
 * SETNX of the time at which the lock ends, GETSET to take over one that has ended, poll: the lock
 * of articles 002 and 004, from the old SETNX page of the Redis documentation.
 *
 * It needs no EXPIRE, so a death leaves nothing for ever. But the time is written by one instance's
 * wall clock and judged by another's: a clock that is ahead by more than what is left steals a live
 * lock, and nobody paused. Losers of the GETSET overwrite the winner's stamp, and DEL asks nobody
 * whose lock it is.
 */
#include "base/clock.h"
#include "base/failpoint.h"
#include "lock/redis/redis_lock.h"
#include "settings/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { POLL_US = 100000, STAMP_SIZE = 24 };

static enum redis_status take_over(struct lock_client *client, const struct lease *lease,
                                   const char *stamp, bool *owned)
{
    struct redis_answer old;
    struct redis_answer replaced;
    enum redis_status status =
        redis_ask(client->redis, 2, (const char *const[]){"GET", lease->name},
                  clock_mono_us() + REDIS_LOCK_TIMEOUT_US, &old);

    if (status != REDIS_OK || old.type != ANSWER_TEXT ||
        strtoll(old.text, NULL, 10) >= redis_lock_wall_ms())
        return status;
    FAILPOINT("redis-getset.take-over");
    status = redis_ask(client->redis, 3, (const char *const[]){"GETSET", lease->name, stamp},
                       clock_mono_us() + REDIS_LOCK_TIMEOUT_US, &replaced);
    *owned = replaced.type == ANSWER_TEXT &&
             strtoll(replaced.text, NULL, 10) == strtoll(old.text, NULL, 10);
    return status;
}

static enum lock_result getset_attempt(struct lock_client *client, struct lease *lease)
{
    char stamp[STAMP_SIZE];
    struct redis_answer answer;

    snprintf(stamp, sizeof stamp, "%" PRId64, redis_lock_wall_ms() + client->settings->lock_ttl_ms);
    enum redis_status status =
        redis_ask(client->redis, 3, (const char *const[]){"SETNX", lease->name, stamp},
                  clock_mono_us() + REDIS_LOCK_TIMEOUT_US, &answer);
    bool owned = answer.number == 1;
    if (status == REDIS_OK && !owned)
        status = take_over(client, lease, stamp, &owned);
    return redis_lock_result(client, lease, status, owned);
}

const struct lock lock_redis_getset = {
    .name = "redis-getset",
    .attempt = getset_attempt,
    .pause_us = POLL_US,
    .release = redis_lock_delete,
};
