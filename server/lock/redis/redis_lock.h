/*
 * What the locks in one Redis share: setting the key, and deleting it whoever owns it.
 * On the client's thread, through its session.
 */
#ifndef SECKILL_LOCK_REDIS_REDIS_LOCK_H
#define SECKILL_LOCK_REDIS_REDIS_LOCK_H

#include "lock/lock.h"

/* How long one call to Redis may take when nothing else bounds it. */
enum { REDIS_LOCK_TIMEOUT_US = 1000000, REDIS_LOCK_TTL_SIZE = 24 };
/* Of a name beside a lock's own, which may hold that one. */
enum { REDIS_LOCK_NAME_SIZE = 2 * LOCK_NAME_MAX };

void redis_lock_ttl(const struct lock_client *client, char out[REDIS_LOCK_TTL_SIZE]);

/* In a cluster, a name SYSTEM:KIND:{LOCK} that is in the slot of the lock's own key, whatever is
 * put behind it; and false elsewhere, where names have stood without a slot since before. */
bool redis_lock_name_beside(const struct lock_client *client, const struct lease *lease,
                            const char *kind, char out[REDIS_LOCK_NAME_SIZE]);

/* For the locks that trust the wall clock; a test can set it wrong. */
int64_t redis_lock_wall_ms(void);

/* SET name value NX PX lease. */
enum redis_status redis_lock_set(struct lock_client *client, const struct lease *lease,
                                 const char *value, int64_t until_us, bool *owned);

/* The same as an attempt: of struct lock. */
enum lock_result redis_lock_attempt(struct lock_client *client, const struct lease *lease,
                                    const char *value);
/* What an attempt comes to; logs a failure. */
enum lock_result redis_lock_result(struct lock_client *client, const struct lease *lease,
                                   enum redis_status status, bool owned);

/* DEL, without a look at the owner. NOT_OWNER when there was nothing to delete; the next holder's
 * lock is deleted and called RELEASED. */
enum lock_release redis_lock_delete(struct lock_client *client, struct lease *lease,
                                    int64_t until_us);

#endif
