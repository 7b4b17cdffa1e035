/*
 * Redisson's way (article 002): the reentrant hash, a watchdog that renews it every third of a
 * lease, and waiters who sleep until a release is published.
 *
 * Work may outlast the lease, up to a cap on the whole hold, so that work that hangs does not keep
 * the lock for ever (Redisson has no cap). Waiters subscribe, ask again (the release may have come
 * in between), and sleep until a message or until what is left of the holder's lease is over, for a
 * dead holder publishes nothing. A renewal that finds another owner, or none in time, marks the
 * lease lost, and the work is cancelled. A process that is stopped stops its watchdog with it: the
 * lease ends, and what it writes when it wakes is stale.
 */
#include "base/clock.h"
#include "lock/reentrant.h"
#include "lock/renewer.h"
#include "settings/settings.h"

enum { HOLD_MAX_LEASES = 3 };

static enum lock_result acquire(struct lock_client *client, int64_t key, bool once,
                                int64_t until_us, struct lease *lease)
{
    lease_begin(client, &lock_redis_watchdog, key, lease);
    enum lock_result result = reentrant_wait(client, once, until_us, lease);
    if (result != LOCK_OWNED)
        return result;
    lease->renewal = LUA_REENTRANT_RENEW;
    lease->renew_until_us =
        clock_mono_us() + HOLD_MAX_LEASES * client->settings->lock_ttl_ms * CLOCK_US_PER_MS;
    renewer_watch(client->renewer, lease);
    return LOCK_OWNED;
}

static enum lock_release release(struct lock_client *client, struct lease *lease, int64_t until_us)
{
    renewer_forget(client->renewer, lease);
    return reentrant_release(client, lease, until_us);
}

const struct lock lock_redis_watchdog = {
    .name = "redis-watchdog",
    .acquire = acquire,
    .release = release,
};
