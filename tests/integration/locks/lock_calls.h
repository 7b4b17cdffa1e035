/*
 * Calling a lock directly, for the programs that test the locks alone: on one product, with a wait
 * or without.
 */
#ifndef SECKILL_TESTS_INTEGRATION_LOCKS_LOCK_CALLS_H
#define SECKILL_TESTS_INTEGRATION_LOCKS_LOCK_CALLS_H

#include "lib/t.h"

#include "base/clock.h"
#include "lock/lock.h"

enum { LOCK_KEY = 7 };
#define LOCK_PATIENCE_US t_patience_us()

static inline int64_t in_ms(int64_t ms)
{
    return clock_mono_us() + ms * CLOCK_US_PER_MS;
}

static inline enum lock_result lock_try(const struct lock *lock, struct lock_client *client,
                                        struct lease *lease)
{
    return lock_acquire(lock, client, LOCK_KEY, true, clock_mono_us(), lease);
}

static inline enum lock_release lock_let_go(const struct lock *lock, struct lock_client *client,
                                            struct lease *lease)
{
    return lock->release(client, lease, clock_mono_us() + LOCK_PATIENCE_US);
}

#endif
