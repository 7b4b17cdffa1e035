/*
 * SET NX PX, then DEL: lock and lease in one command.
 *
 * A death leaves the lock for one lease and no longer. But the value is the same for everybody and
 * DEL asks nobody: a holder that was paused past its lease deletes the NEXT holder's lock, whose
 * work then runs beside the one after it, and so on down the line.
 */
#include "lock/redis/redis_lock.h"

static enum lock_result expiry_attempt(struct lock_client *client, struct lease *lease)
{
    return redis_lock_attempt(client, lease, "1");
}

const struct lock lock_redis_expiry = {
    .name = "redis-expiry",
    .attempt = expiry_attempt,
    .release = redis_lock_delete,
};
