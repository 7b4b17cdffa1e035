/*
 * A reentrant lock in Redis: a hash {owner: count} (article 003; Redisson). redis-reentrant polls
 * for it, redis-watchdog hears when it is free.
 */
#ifndef SECKILL_LOCK_REENTRANT_H
#define SECKILL_LOCK_REENTRANT_H

#include "lock/redis/redis_lock.h"

/* Takes it, or takes it once more. *left_ms is 0 when the lease's token now owns it, else what the
 * other's lease has left. Not idempotent: after REDIS_LOST the count is unknown. */
enum redis_status reentrant_ask(struct lock_client *client, struct lease *lease, int64_t until_us,
                                int64_t *left_ms);

/* The same until `until_us`, asleep until a release is published or the holder's lease is over. */
enum lock_result reentrant_wait(struct lock_client *client, bool once, int64_t until_us,
                                struct lease *lease);

/* The members of struct lock. */
enum lock_result reentrant_reenter(struct lock_client *client, struct lease *lease);
enum lock_release reentrant_release(struct lock_client *client, struct lease *lease,
                                    int64_t until_us);

#endif
