/*
 * Whole replies, for callers that know no hiredis: struct redis_reply is its redisReply.
 *
 * Reading one never fails: what is not there, or of another type, is 0 or NULL.
 */
#include "redis/redis_internal.h"

#include <stdlib.h>

enum redis_status redis_hand_over(enum redis_status status, redisReply *answer,
                                  struct redis_reply **reply)
{
    if (status != REDIS_OK && answer) {
        freeReplyObject(answer);
        answer = NULL;
    }
    *reply = (struct redis_reply *)answer;
    return status;
}

enum redis_status redis_call(struct redis *redis, int count, const char *const *arguments,
                             int64_t until_us, struct redis_reply **reply)
{
    redisReply *answer = NULL;
    enum redis_status status = redis_run_command(redis, count, arguments, until_us, &answer);

    return redis_hand_over(status, answer, reply);
}

void redis_reply_free(struct redis_reply *reply)
{
    if (reply)
        freeReplyObject(reply);
}

int redis_reply_count(const struct redis_reply *reply)
{
    const redisReply *answer = (const redisReply *)reply;

    return answer && answer->type == REDIS_REPLY_ARRAY ? (int)answer->elements : 0;
}

const struct redis_reply *redis_reply_at(const struct redis_reply *reply, int i)
{
    if (i >= redis_reply_count(reply))
        return NULL;
    return (const struct redis_reply *)((const redisReply *)reply)->element[i];
}

const char *redis_reply_text(const struct redis_reply *reply)
{
    const redisReply *answer = (const redisReply *)reply;

    return answer && answer->type == REDIS_REPLY_STRING ? answer->str : NULL;
}

int64_t redis_reply_number(const struct redis_reply *reply)
{
    const redisReply *answer = (const redisReply *)reply;

    if (answer && answer->type == REDIS_REPLY_STRING)
        return strtoll(answer->str, NULL, 10);
    return answer && answer->type == REDIS_REPLY_INTEGER ? answer->integer : 0;
}
