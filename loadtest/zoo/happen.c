/*
 * What happens to a buyer. Nobody waits ten seconds for a lease: the stage ends it at once, where
 * it is kept, and then looks until it is gone. Redis "forgets" what the zoo has written, nothing
 * else.
 */
#include "loadtest/zoo/send.h"

#include "base/clock.h"
#include "loadtest/base/process.h"

#include <stdio.h>
#include <string.h>

/* What a command says of the lock; `argument` may be "". */
static bool ask_number(struct zoo_stage *stage, const char *command, const char *argument,
                       int64_t *out, struct error *error)
{
    char key[80];
    const char *words[] = {command, key, argument};
    redisContext *redis = zoo_redis(stage, &stage->own, NODE_LOCKS, error);
    if (!redis)
        return false;
    snprintf(key, sizeof key, "%s:lock", stage->prefix);
    redisReply *reply = redisCommandArgv(redis, *argument ? 3 : 2, words, NULL);
    bool good = reply && reply->type == REDIS_REPLY_INTEGER;
    if (good)
        *out = reply->integer;
    else
        error_fail(error, "Redis: %s", reply ? reply->str : redis->errstr);
    freeReplyObject(reply);
    return good;
}

/* Whether to look again. */
static bool pause(int64_t until_us, const char *what, struct error *error)
{
    if (process_sleep_ms(1) && clock_mono_us() < until_us)
        return true;
    return error_fail(error, "%s does not end", what);
}

static bool end_lease(struct zoo_stage *stage, struct error *error)
{
    int64_t until_us = clock_mono_us() + ZOO_PATIENCE_US, there = 0;
    if (!ask_number(stage, "PEXPIRE", "1", &there, error))
        return false;
    if (!there)
        return error_fail(error, "there is no lock in Redis whose lease could end");
    while (ask_number(stage, "EXISTS", "", &there, error)) {
        if (!there)
            return true;
        if (!pause(until_us, "the lease in Redis", error))
            return false;
    }
    return false;
}

static bool end_memcached_lease(struct zoo_stage *stage, struct error *error)
{
    int64_t until_us = clock_mono_us() + ZOO_PATIENCE_US;
    char command[160], reply[MEMCACHED_REPLY_SIZE];
    struct memcached *memcached = zoo_memcached(stage, &stage->own, error);
    snprintf(command, sizeof command, "touch %s:lock -1\r\n", stage->prefix);
    if (!memcached || !memcached_say(memcached, command, reply, error))
        return false;
    if (strcmp(reply, "TOUCHED") != 0)
        return error_fail(error, "there is no lock in memcached whose lease could end");
    snprintf(command, sizeof command, "get %s:lock\r\n", stage->prefix);
    while (memcached_say(memcached, command, reply, error)) {
        if (strcmp(reply, "END") == 0)
            return true;
        if (!pause(until_us, "the lease in memcached", error))
            return false;
    }
    return false;
}

bool zoo_happen(struct zoo_stage *stage, struct zoo_buyer *buyer, enum zoo_verb verb,
                struct error *error)
{
    switch (verb) {
    case LEASE_ENDS:
    case LEASE_OVER:
        return end_lease(stage, error);
    case LOCK_ROW_ENDS:
        return zoo_stage_run(
            stage, "UPDATE {schema}.product_lock SET lease_until = clock_timestamp()", error);
    case MEMCACHED_LEASE_ENDS:
        return end_memcached_lease(stage, error);
    case SESSION_ENDS:
        return zk_expire(&buyer->sessions.zk, stage->place.zookeeper, error);
    case DIES:
        zoo_hang_up(&buyer->sessions);
        return true;
    case REDIS_FORGETS:
        return zoo_stage_forget(stage, NODE_LOCKS, error);
    case NODE_2_FORGETS:
        return zoo_stage_forget(stage, NODE_2, error);
    case STOCK_REDIS_FORGETS:
        return zoo_stage_forget(stage, NODE_STOCK, error);
    default: /* PAUSED: it does nothing, and nothing ends */
        return true;
    }
}
