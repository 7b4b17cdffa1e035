/*
 * Hearing the messages of one channel.
 *
 * A session that has subscribed can run nothing else, so each session keeps a second one for it. In
 * a cluster that knows sharded channels, it is with the node that has the channel's slot. When the
 * slot moves, that node ends the subscription: it is made again at the next one, and taken for a
 * message, since one may have been missed in between.
 */
#include "redis/redis_internal.h"

#include "base/clock.h"

#include <string.h>

const char *redis_subscribe_command(const struct redis *redis)
{
    return redis_server_is_sharded(redis->server) ? "SSUBSCRIBE" : "SUBSCRIBE";
}

static enum redis_status send_subscribe(struct redis *redis, const struct redis_request *request,
                                        redisReply **reply)
{
    enum redis_status status = REDIS_LOST;

    *reply = NULL;
    if (!redis->listener)
        redis->listener = redis_create(redis->server);
    if (!redis->listener)
        return redis_lose(redis, ERROR_INTERNAL, "out of memory");
    if (redis_connect(redis->listener, request->until_us))
        status = redis_tell(
            redis->listener, 2,
            (const char *const[]){redis_subscribe_command(redis->listener), request->channel},
            request->until_us);
    if (status != REDIS_OK)
        redis->error = redis->listener->error;
    return status;
}

enum redis_status redis_subscribe(struct redis *redis, const char *channel, int64_t until_us)
{
    redisReply *reply;
    enum redis_status status = redis_run(
        redis,
        &(struct redis_request){
            .send = send_subscribe, .key = channel, .channel = channel, .until_us = until_us},
        &reply);

    return status == REDIS_OK ? status : REDIS_LOST;
}

/* The session that has subscribed; NULL: none. */
static struct redis *listener_of(const struct redis *redis)
{
    const struct redis *ear = redis_is_routed(redis) ? redis->server->routing->ear(redis) : redis;

    return ear ? ear->listener : NULL;
}

/* Of a sharded channel they begin with an s. */
static bool is_kind(const redisReply *reply, const char *kind)
{
    const char *is = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0
                         ? reply->element[0]->str
                         : NULL;

    return is && (strcmp(is, kind) == 0 || (*is == 's' && strcmp(is + 1, kind) == 0));
}

enum redis_status redis_hear(struct redis *redis, int64_t until_us, bool *heard)
{
    struct redis *listener = listener_of(redis);
    redisReply *reply = NULL;

    *heard = false;
    if (!listener)
        return redis_lose(redis, ERROR_UNAVAILABLE, "not connected");
    enum redis_status status = redis_read(listener, until_us, &reply);
    *heard = is_kind(reply, "message");
    if (is_kind(reply, "unsubscribe") && redis_is_routed(redis)) {
        status = redis_subscribe(redis, redis->server->routing->channel(redis), until_us);
        *heard = status == REDIS_OK;
    } else if (status != REDIS_OK) {
        redis->error = listener->error;
    }
    if (reply)
        freeReplyObject(reply);
    return status;
}

void redis_unsubscribe(struct redis *redis, int64_t until_us)
{
    struct redis *listener = listener_of(redis);
    redisReply *reply = NULL;

    if (!listener || !listener->context)
        return;
    const char *command =
        redis_server_is_sharded(listener->server) ? "SUNSUBSCRIBE" : "UNSUBSCRIBE";
    enum redis_status status =
        redis_command(listener, 1, (const char *const[]){command}, until_us, &reply);
    /* Messages that came in the meantime stand before the answer. */
    while (status == REDIS_OK && !is_kind(reply, "unsubscribe")) {
        freeReplyObject(reply);
        status = redis_receive(listener, until_us, &reply);
    }
    if (reply)
        freeReplyObject(reply);
}
