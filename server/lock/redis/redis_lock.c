/* The steps that the locks in Redis share. */
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

bool redis_lock_name_beside(const struct lock_client *client, const struct lease *lease,
                            const char *kind, char out[REDIS_LOCK_NAME_SIZE])
{
    if (!redis_is_cluster(client->redis))
        return false;
    snprintf(out, REDIS_LOCK_NAME_SIZE, "%s:%s:{%s}", client->settings->system_name, kind,
             lease->name);
    return true;
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

enum lock_result redis_lock_result(struct lock_client *client, const struct lease *lease,
                                   enum redis_status status, bool owned)
{
    if (status == REDIS_OK)
        return owned ? LOCK_OWNED : LOCK_BUSY;
    log_debug("%s: %s", lease->name, redis_error(client->redis)->text);
    return LOCK_UNKNOWN;
}

enum lock_result redis_lock_attempt(struct lock_client *client, const struct lease *lease,
                                    const char *value)
{
    bool owned;
    enum redis_status status =
        redis_lock_set(client, lease, value, clock_mono_us() + REDIS_LOCK_TIMEOUT_US, &owned);

    return redis_lock_result(client, lease, status, owned);
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
