/*
 * SET NX PX, then DEL: lock and lease in one command.
 *
 * A death leaves the lock for one lease and no longer. But the value is the same for everybody and
 * DEL asks nobody: a holder that was paused past its lease deletes the NEXT holder's lock, whose
 * work then runs beside the one after it, and so on down the line.
 */
#include "lock/redis/redis_lock.h"

static enum redis_status redis_expiry_attempt(struct lock_client *client, struct lease *lease,
                                              int64_t until_us, bool *owned)
{
    return redis_lock_set(client, lease, "1", until_us, owned);
}

static enum lock_result expiry_acquire(struct lock_client *client, int64_t key, bool once,
                                       int64_t until_us, struct lease *lease)
{
    lease_begin(client, &lock_redis_expiry, key, lease);
    return redis_lock_poll(client, lease, redis_expiry_attempt, 0, once, until_us);
}

const struct lock lock_redis_expiry = {
    .name = "redis-expiry",
    .acquire = expiry_acquire,
    .release = redis_lock_delete,
};
