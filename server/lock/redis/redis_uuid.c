/*
 * SET NX PX with a value of the holder's own; GET, compare, DEL: article 003's cure for the
 * mis-delete.
 *
 * Three steps are not one act: the lease may end between the comparison and DEL, and then DEL frees
 * the next holder's lock after all.
 */
#include "base/failpoint.h"
#include "lock/redis/redis_lock.h"

#include <string.h>

static enum redis_status redis_uuid_attempt(struct lock_client *client, struct lease *lease,
                                            int64_t until_us, bool *owned)
{
    return redis_lock_set(client, lease, lease->token, until_us, owned);
}

static enum lock_result uuid_acquire(struct lock_client *client, int64_t key, bool once,
                                     int64_t until_us, struct lease *lease)
{
    lease_begin(client, &lock_redis_uuid, key, lease);
    return redis_lock_poll(client, lease, redis_uuid_attempt, 0, once, until_us);
}

static enum lock_release uuid_release(struct lock_client *client, struct lease *lease,
                                      int64_t until_us)
{
    struct redis_answer answer;

    if (!redis_connect(client->redis, until_us) ||
        redis_ask(client->redis, 2, (const char *const[]){"GET", lease->name}, until_us, &answer) !=
            REDIS_OK)
        return LOCK_RELEASE_UNKNOWN;
    if (answer.type != ANSWER_TEXT || strcmp(answer.text, lease->token) != 0)
        return LOCK_NOT_OWNER;
    FAILPOINT("redis-uuid.delete");
    return redis_lock_delete(client, lease, until_us);
}

const struct lock lock_redis_uuid = {
    .name = "redis-uuid",
    .acquire = uuid_acquire,
    .release = uuid_release,
};
