/* Locks with one thing left out, to show what it is for. Only in builds with failpoints. */
#include "base/clock.h"
#include "lock/reentrant.h"

/* SETNX and nothing else: a holder that dies keeps the lock for ever. */
static enum lock_result setnx_alone(struct lock_client *client, struct lease *lease)
{
    struct redis_answer answer;
    enum redis_status status =
        redis_ask(client->redis, 3, (const char *const[]){"SETNX", lease->name, "1"},
                  clock_mono_us() + REDIS_LOCK_TIMEOUT_US, &answer);

    atomic_store(&lease->valid_until_us, INT64_MAX);
    return redis_lock_result(client, lease, status, answer.number == 1);
}

const struct lock lock_control_setnx_no_expiry = {
    .name = "setnx-no-expiry",
    .attempt = setnx_alone,
    .release = redis_lock_delete,
};

/* redis-watchdog as article 002's sample calls it: with a lease of its own, which switches the
 * watchdog off. */
static enum lock_result explicit_acquire(struct lock_client *client, int64_t key, bool once,
                                         int64_t until_us, struct lease *lease)
{
    lease_begin(client, &lock_control_watchdog_explicit_lease, key, lease);
    return reentrant_wait(client, once, until_us, lease);
}

const struct lock lock_control_watchdog_explicit_lease = {
    .name = "watchdog-explicit-lease",
    .acquire = explicit_acquire,
    .release = reentrant_release,
};
