/*
 * Article 003's reentrant lock: a hash {owner: count} in Lua, polled for.
 *
 * The owner may take it again, so that code under the lock may call code that locks; each taking
 * and each partial release starts the lease anew, and a stranger's release answers nil. Without
 * renewal it ends with its lease like every other one: a holder paused past it still writes.
 */
#include "base/clock.h"
#include "lock/reentrant.h"

static enum lock_result reentrant_attempt(struct lock_client *client, struct lease *lease)
{
    int64_t left_ms = 0;
    enum redis_status status =
        reentrant_ask(client, lease, clock_mono_us() + REDIS_LOCK_TIMEOUT_US, &left_ms);
    enum lock_result result = redis_lock_result(client, lease, status, left_ms == 0);

    if (result == LOCK_UNKNOWN)
        reentrant_release(client, lease, clock_mono_us() + REDIS_LOCK_TIMEOUT_US);
    return result;
}

const struct lock lock_redis_reentrant = {
    .name = "redis-reentrant",
    .attempt = reentrant_attempt,
    .release = reentrant_release,
    .reenter = reentrant_reenter,
};
