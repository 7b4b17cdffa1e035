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

static enum lock_result uuid_attempt(struct lock_client *client, struct lease *lease)
{
    return redis_lock_attempt(client, lease, lease->token);
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
    .attempt = uuid_attempt,
    .release = uuid_release,
};
