/*
 * Hearing the messages of one channel.
 *
 * A session that has subscribed can run nothing else, so each session keeps a second one for it.
 */
#include "redis/redis_internal.h"

#include "base/clock.h"

#include <string.h>

enum redis_status redis_subscribe(struct redis *redis, const char *channel, int64_t until_us)
{
    if (!redis->listener)
        redis->listener = redis_create(redis->server);
    if (!redis->listener)
        return redis_lose(redis, ERROR_INTERNAL, "out of memory");
    if (redis_connect(redis->listener, until_us) &&
        redis_send(redis->listener, 2, (const char *const[]){"SUBSCRIBE", channel}, until_us) ==
            REDIS_OK)
        return REDIS_OK;
    redis->error = redis->listener->error;
    return REDIS_LOST;
}

static bool is_kind(const redisReply *reply, const char *kind)
{
    return reply && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
           strcmp(reply->element[0]->str, kind) == 0;
}

enum redis_status redis_hear(struct redis *redis, int64_t until_us, bool *heard)
{
    redisReply *reply = NULL;
    enum redis_status status = redis_read(redis->listener, until_us, &reply);

    *heard = is_kind(reply, "message");
    if (status != REDIS_OK)
        redis->error = redis->listener->error;
    if (reply)
        freeReplyObject(reply);
    return status;
}

void redis_unsubscribe(struct redis *redis, int64_t until_us)
{
    struct redis *listener = redis->listener;
    redisReply *reply = NULL;

    if (!listener || !listener->context)
        return;
    enum redis_status status =
        redis_command(listener, 1, (const char *const[]){"UNSUBSCRIBE"}, until_us, &reply);
    /* Messages that came in the meantime stand before the answer. */
    while (status == REDIS_OK && !is_kind(reply, "unsubscribe")) {
        freeReplyObject(reply);
        status = redis_receive(listener, until_us, &reply);
    }
    if (reply)
        freeReplyObject(reply);
}
