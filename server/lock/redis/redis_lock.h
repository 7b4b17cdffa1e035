/*
 * What the locks in one Redis share: trying again within a deadline, and deleting whoever owns it.
 * On the client's thread, through its session.
 */
#ifndef SECKILL_LOCK_REDIS_REDIS_LOCK_H
#define SECKILL_LOCK_REDIS_REDIS_LOCK_H

#include "lock/lock.h"

/* How long one call to Redis may take when nothing else bounds it. */
enum { REDIS_LOCK_TIMEOUT_US = 1000000, REDIS_LOCK_TTL_SIZE = 24 };

void redis_lock_ttl(const struct lock_client *client, char out[REDIS_LOCK_TTL_SIZE]);

/* For the locks that trust the wall clock; a test can set it wrong. */
int64_t redis_lock_wall_ms(void);

/* One attempt: sets *owned. The lease counts from before it. */
typedef enum redis_status redis_lock_attempt(struct lock_client *client, struct lease *lease,
                                             int64_t until_us, bool *owned);

/* SET name value NX PX lease. */
enum redis_status redis_lock_set(struct lock_client *client, const struct lease *lease,
                                 const char *value, int64_t until_us, bool *owned);

/* Attempts until the lock is owned or the time is over, sleeping in between: `pause_us`, or 0 for
 * jitter under a growing bound. With `once` a single attempt. */
enum lock_result redis_lock_poll(struct lock_client *client, struct lease *lease,
                                 redis_lock_attempt *attempt, int64_t pause_us, bool once,
                                 int64_t until_us);

/* DEL, whoever owns it. NOT_OWNER when there was nothing to delete; the next holder's lock is
 * deleted and called RELEASED. */
enum lock_release redis_lock_delete(struct lock_client *client, struct lease *lease,
                                    int64_t until_us);

#endif
