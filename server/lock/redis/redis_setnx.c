/*
 * SETNX, then EXPIRE, then DEL: the first distributed lock of articles 000 and 003.
 *
 * Two commands are not one act: a process that dies between them leaves a lock without an expiry,
 * and everybody waits until a person deletes the key. And DEL asks nobody whose lock it is. The
 * expiry is PEXPIRE here, so that --lock-ttl-ms keeps its unit.
 */
#include "base/clock.h"
#include "base/failpoint.h"
#include "lock/redis/redis_lock.h"

static enum lock_result setnx_attempt(struct lock_client *client, struct lease *lease)
{
    int64_t until_us = clock_mono_us() + REDIS_LOCK_TIMEOUT_US;
    char ttl[REDIS_LOCK_TTL_SIZE];
    struct redis_answer answer;
    enum redis_status status = redis_ask(
        client->redis, 3, (const char *const[]){"SETNX", lease->name, "1"}, until_us, &answer);
    bool owned = answer.number == 1;

    if (status == REDIS_OK && owned) {
        FAILPOINT("redis-setnx.expire");
        redis_lock_ttl(client, ttl);
        status = redis_send(client->redis, 3, (const char *const[]){"PEXPIRE", lease->name, ttl},
                            until_us);
    }
    return redis_lock_result(client, lease, status, owned);
}

const struct lock lock_redis_setnx = {
    .name = "redis-setnx",
    .attempt = setnx_attempt,
    .release = redis_lock_delete,
};
