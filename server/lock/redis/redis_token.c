/*
 * SET NX PX with a 128-bit token; one script compares and deletes (Redis documentation,
 * "Distributed Locks with Redis").
 *
 * Nobody deletes another's lock. A request whose answer was lost is taken back on a new session, so
 * it costs the others nothing. One limit stays, as with every lease: a holder paused past its end
 * still writes, and only a fence in the database refuses it.
 */
#include "base/clock.h"
#include "lock/redis/redis_lock.h"

static enum lock_release token_release(struct lock_client *client, struct lease *lease,
                                       int64_t until_us)
{
    int64_t owned = 0;

    if (!redis_connect(client->redis, until_us) ||
        redis_script(client->redis, LUA_TOKEN_RELEASE, 1, 2,
                     (const char *const[]){lease->name, lease->token}, until_us,
                     &owned) != REDIS_OK)
        return LOCK_RELEASE_UNKNOWN;
    return owned ? LOCK_RELEASED : LOCK_NOT_OWNER;
}

static enum lock_result token_attempt(struct lock_client *client, struct lease *lease)
{
    enum lock_result result = redis_lock_attempt(client, lease, lease->token);

    if (result == LOCK_UNKNOWN)
        token_release(client, lease, clock_mono_us() + REDIS_LOCK_TIMEOUT_US);
    return result;
}

const struct lock lock_redis_token = {
    .name = "redis-token",
    .attempt = token_attempt,
    .release = token_release,
};
