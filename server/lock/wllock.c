/*
 * wllock's RedisLock: SETNX and PEXPIRE in one script with an empty value, tried again at once
 * without a pause for half of the time that is left; DEL, without a look at the owner.
 *
 * Kept with its defects (docs/ARTICLES.md numbers them): no owner (W1), no renewal and no fence
 * (W2), a budget that rounds to 0 and then means for ever (W3), half of the time unused (W4), a
 * busy spin (W5), no second entry by the owner (W9), every failure the same "no" (W13), a lost
 * reply leaves the lock to nobody until its lease ends (W14), the wall clock, compared after the
 * attempt and strictly (W15), a single Redis (W16). One thing is not kept: the spin ends at the
 * deadline.
 */
#include "lock/wllock.h"

#include "base/clock.h"
#include "lock/redis/redis_lock.h"
#include "settings/settings.h"

enum lock_result wllock_spin(struct lock_client *client, int64_t key, int left_ms, int64_t until_us,
                             struct lease *lease)
{
    int budget_ms = left_ms / 2;
    int64_t begun_ms = redis_lock_wall_ms();
    char ttl[REDIS_LOCK_TTL_SIZE];
    int64_t owned = 0;

    lease_begin(client, &lock_wllock, key, lease);
    redis_lock_ttl(client, ttl);
    do {
        int64_t asked_us = clock_mono_us();
        if (!redis_connect(client->redis, asked_us + REDIS_LOCK_TIMEOUT_US) ||
            redis_script(client->redis, LUA_WLLOCK_ACQUIRE, 1, 2,
                         (const char *const[]){lease->name, ttl}, asked_us + REDIS_LOCK_TIMEOUT_US,
                         &owned) != REDIS_OK)
            return LOCK_BUSY;
        atomic_store(&lease->valid_until_us,
                     asked_us + client->settings->lock_ttl_ms * CLOCK_US_PER_MS);
        if (owned)
            return LOCK_OWNED;
        if (budget_ms > 0 && redis_lock_wall_ms() - begun_ms > budget_ms)
            return LOCK_BUSY;
    } while (clock_mono_us() < until_us);
    return LOCK_BUSY;
}

static enum lock_result acquire(struct lock_client *client, int64_t key, bool once,
                                int64_t until_us, struct lease *lease)
{
    int64_t now_us = clock_mono_us();

    if (once)
        return wllock_spin(client, key, 1, now_us, lease);
    return wllock_spin(client, key, (int)((until_us - now_us) / CLOCK_US_PER_MS), until_us, lease);
}

const struct lock lock_wllock = {
    .name = "wllock",
    .acquire = acquire,
    .release = redis_lock_delete,
};
