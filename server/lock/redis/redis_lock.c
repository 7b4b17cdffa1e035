/* One way to try again, and the steps that differ from lock to lock as functions. */
#include "lock/redis/redis_lock.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "settings/settings.h"

#include <stdio.h>

void redis_lock_ttl(const struct lock_client *client, char out[REDIS_LOCK_TTL_SIZE])
{
    snprintf(out, REDIS_LOCK_TTL_SIZE, "%lld", (long long)client->settings->lock_ttl_ms);
}

int64_t redis_lock_wall_ms(void)
{
    return clock_wall_us() / CLOCK_US_PER_MS + FAILPOINT_SKEW_MS("clock.wall");
}

enum redis_status redis_lock_set(struct lock_client *client, const struct lease *lease,
                                 const char *value, int64_t until_us, bool *owned)
{
    char ttl[REDIS_LOCK_TTL_SIZE];
    struct redis_answer answer;

    redis_lock_ttl(client, ttl);
    enum redis_status status = redis_ask(
        client->redis, 6, (const char *const[]){"SET", lease->name, value, "NX", "PX", ttl},
        until_us, &answer);
    *owned = answer.type == ANSWER_TEXT;
    return status;
}

enum lock_result redis_lock_poll(struct lock_client *client, struct lease *lease,
                                 redis_lock_attempt *attempt, int64_t pause_us, bool once,
                                 int64_t until_us)
{
    for (unsigned attempts = 1;; attempts++) {
        int64_t asked_us = clock_mono_us();
        bool owned = false;

        if (attempt(client, lease, asked_us + REDIS_LOCK_TIMEOUT_US, &owned) != REDIS_OK) {
            log_debug("%s: %s", lease->name, redis_error(client->redis)->text);
            return LOCK_UNKNOWN;
        }
        atomic_store(&lease->valid_until_us,
                     asked_us + client->settings->lock_ttl_ms * CLOCK_US_PER_MS);
        if (owned)
            return LOCK_OWNED;
        int64_t now_us = clock_mono_us();
        if (once || now_us >= until_us)
            return LOCK_BUSY;
        int64_t pause = pause_us ? pause_us : random_backoff_us(attempts);
        clock_sleep_until(clock_earlier(now_us + pause, until_us));
    }
}

enum lock_release redis_lock_delete(struct lock_client *client, struct lease *lease,
                                    int64_t until_us)
{
    struct redis_answer answer;

    if (!redis_connect(client->redis, until_us) ||
        redis_ask(client->redis, 2, (const char *const[]){"DEL", lease->name}, until_us, &answer) !=
            REDIS_OK)
        return LOCK_RELEASE_UNKNOWN;
    return answer.number == 1 ? LOCK_RELEASED : LOCK_NOT_OWNER;
}
