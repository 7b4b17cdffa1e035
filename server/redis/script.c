/*
 * Scripts by name.
 *
 * A script goes as EVALSHA with the digest that this session was told when it loaded it. A Redis
 * that has forgotten its scripts (restarted, flushed) answers NOSCRIPT and has executed nothing:
 * the script is loaded again and called again, once. A second NOSCRIPT is an error like any other.
 * An error of a command inside a script is not: what the script had written stays written.
 */
#include "redis/redis_internal.h"

#include "base/failpoint.h"
#include "metrics/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum redis_status load_script(struct redis *redis, enum lua script, int64_t until_us)
{
    struct cost before = cost_of_thread[COST_REDIS];
    redisReply *reply = NULL;
    enum redis_status status = redis_command(
        redis, 3, (const char *const[]){"SCRIPT", "LOAD", lua_texts[script]}, until_us, &reply);

    cost_of_thread[COST_REDIS] = before; /* once a session: part of opening it */
    if (status == REDIS_OK && reply->type == REDIS_REPLY_STRING && reply->len == REDIS_SHA_LENGTH)
        memcpy(redis->sha[script], reply->str, REDIS_SHA_LENGTH + 1);
    if (reply)
        freeReplyObject(reply);
    return status;
}

/* Every Redis since 6.2 says of such an error where in the script it was met: "@user_script:12". */
static bool failed_inside(const redisReply *answer)
{
    return answer && strstr(answer->str, "user_script");
}

static enum redis_status send_script(struct redis *redis, const struct redis_request *request,
                                     redisReply **answer)
{
    enum lua script = request->script;
    int count = request->count;
    int64_t until_us = request->until_us;
    const char *argv[REDIS_ARGUMENTS_MAX];
    char key_count[8];
    enum redis_status status = REDIS_OK;

    if (count + 3 > REDIS_ARGUMENTS_MAX)
        abort();
    snprintf(key_count, sizeof key_count, "%d", request->keys);
    memcpy(argv + 3, request->arguments, (size_t)count * sizeof *argv);
    for (int attempt = 0; attempt < 2; attempt++) {
        if (!redis->sha[script][0])
            status = load_script(redis, script, until_us);
        if (status != REDIS_OK)
            return status;
        argv[0] = "EVALSHA";
        argv[1] = redis->sha[script];
        argv[2] = key_count;
        status = redis_command(redis, count + 3, argv, until_us, answer);
        if (status == REDIS_OK && script != LUA_PROBE && FAILPOINT_FAILS("redis.reply")) {
            freeReplyObject(*answer);
            *answer = NULL;
            status = redis_lose(redis, ERROR_TIMEOUT, "a test lost the reply");
        }
        if (status == REDIS_REFUSED && failed_inside(*answer))
            return REDIS_LOST;
        if (status != REDIS_REFUSED || !strstr(redis->error.text, "NOSCRIPT"))
            return status;
        freeReplyObject(*answer);
        *answer = NULL;
        redis->sha[script][0] = '\0';
        status = REDIS_OK;
    }
    return REDIS_REFUSED;
}

static enum redis_status eval(struct redis *redis, enum lua script, int keys, int count,
                              const char *const *arguments, int64_t until_us, redisReply **answer)
{
    return redis_run(redis,
                     &(struct redis_request){.send = send_script,
                                             .key = arguments[0],
                                             .script = script,
                                             .keys = keys,
                                             .count = count,
                                             .arguments = arguments,
                                             .until_us = until_us},
                     answer);
}

enum redis_status redis_script(struct redis *redis, enum lua script, int keys, int count,
                               const char *const *arguments, int64_t until_us, int64_t *reply)
{
    redisReply *answer = NULL;
    enum redis_status status = eval(redis, script, keys, count, arguments, until_us, &answer);

    if (status == REDIS_OK && answer)
        *reply = answer->type == REDIS_REPLY_NIL ? REDIS_NIL : answer->integer;
    if (answer)
        freeReplyObject(answer);
    return status;
}

enum redis_status redis_eval(struct redis *redis, enum lua script, int keys, int count,
                             const char *const *arguments, int64_t until_us,
                             struct redis_reply **reply)
{
    redisReply *answer = NULL;
    enum redis_status status = eval(redis, script, keys, count, arguments, until_us, &answer);

    return redis_hand_over(status, answer, reply);
}
