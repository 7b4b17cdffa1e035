/* What every lock needs: a lease's beginning, whether it holds, and trying again until a deadline.
 */
#include "lock/lock.h"

#include "base/clock.h"
#include "settings/settings.h"

#include <stdio.h>

bool lease_holds(const struct lease *lease)
{
    return !atomic_load(&lease->lost) && clock_mono_us() < atomic_load(&lease->valid_until_us);
}

void lease_begin(struct lock_client *client, const struct lock *lock, int64_t key,
                 struct lease *lease)
{
    lease->key = key;
    snprintf(lease->name, sizeof lease->name, "%s:lock:%s:%lld", client->settings->system_name,
             lock->name, (long long)key);
    random_token(lease->token);
    atomic_store(&lease->lost, false);
    lease->renew_until_us = INT64_MAX;
}

enum lock_result lock_acquire(const struct lock *lock, struct lock_client *client, int64_t key,
                              bool once, int64_t until_us, struct lease *lease)
{
    if (lock->acquire)
        return lock->acquire(client, key, once, until_us, lease);
    lease_begin(client, lock, key, lease);
    for (unsigned attempts = 1;; attempts++) {
        atomic_store(&lease->valid_until_us,
                     clock_mono_us() + client->settings->lock_ttl_ms * CLOCK_US_PER_MS);
        enum lock_result result = lock->attempt(client, lease);
        int64_t now_us = clock_mono_us();
        if (result != LOCK_BUSY || once || now_us >= until_us)
            return result;
        int64_t pause_us = lock->pause_us ? lock->pause_us : random_backoff_us(attempts);
        clock_sleep_until(clock_earlier(now_us + pause_us, until_us));
    }
}
