/*
 * Article 003's reentrant lock: a hash {owner: count} in Lua, polled for.
 *
 * The owner may take it again, so that code under the lock may call code that locks; each taking
 * and each partial release starts the lease anew, and a stranger's release answers nil. Without
 * renewal it ends with its lease like every other one: a holder paused past it still writes.
 */
#include "base/clock.h"
#include "lock/reentrant.h"

static enum redis_status redis_reentrant_attempt(struct lock_client *client, struct lease *lease,
                                                 int64_t until_us, bool *owned)
{
    int64_t left_ms = 0;
    enum redis_status status = reentrant_ask(client, lease, until_us, &left_ms);

    *owned = left_ms == 0;
    return status;
}

static enum lock_result acquire(struct lock_client *client, int64_t key, bool once,
                                int64_t until_us, struct lease *lease)
{
    lease_begin(client, &lock_redis_reentrant, key, lease);
    enum lock_result result =
        redis_lock_poll(client, lease, redis_reentrant_attempt, 0, once, until_us);
    if (result == LOCK_UNKNOWN)
        reentrant_release(client, lease, clock_mono_us() + REDIS_LOCK_TIMEOUT_US);
    return result;
}

const struct lock lock_redis_reentrant = {
    .name = "redis-reentrant",
    .acquire = acquire,
    .release = reentrant_release,
    .reenter = reentrant_reenter,
};
