/*
 * A session with Redis is opened: dialled, greeted, found alive, or left alone for a while after a
 * failure, so that a Redis that is gone does not cost every order a connect.
 */
#include "redis/redis_internal.h"

#include "base/clock.h"
#include "metrics/cost.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { PROOF_US = 100000 }; /* Redlock gives a node 200 ms */

static bool open_context(struct redis *redis, int64_t until_us)
{
    struct error error;

    redis->context = redis_dial(redis->server, until_us, &error);
    if (!redis->context) {
        redis_lose(redis, error.code, error.text);
        return false;
    }
    if (!redis->server->url.is_unix)
        redisEnableKeepAlive(redis->context);
    return true;
}

/* A Sentinel may name a server that is the primary no more. */
static enum redis_status check_role(struct redis *redis, int64_t until_us)
{
    redisReply *reply = NULL;

    if (!redis->server->url.primary[0])
        return REDIS_OK;
    enum redis_status status =
        redis_command(redis, 1, (const char *const[]){"ROLE"}, until_us, &reply);
    bool primary = status == REDIS_OK && reply && reply->type == REDIS_REPLY_ARRAY &&
                   reply->elements > 0 && reply->element[0]->str &&
                   strcmp(reply->element[0]->str, "master") == 0;
    if (reply)
        freeReplyObject(reply);
    if (status == REDIS_OK && !primary)
        return redis_lose(redis, ERROR_UNAVAILABLE,
                          "the Sentinels name a server that is no primary");
    return status;
}

static enum redis_status greet(struct redis *redis, int64_t until_us)
{
    char database[8];

    redis->optional = true; /* sessions that are open may well be served */
    snprintf(database, sizeof database, "%d", redis->server->url.database);
    enum redis_status status = redis_log_in(redis, until_us);
    if (status == REDIS_OK)
        status = check_role(redis, until_us);
    if (status == REDIS_OK)
        status = redis_tell(redis, 2, (const char *const[]){"SELECT", database}, until_us);
    /* A session that opens can serve: a Redis that still reads its file answers SELECT, but not
     * this. (PING is refused also by one that takes no writes and can be read.) */
    if (status == REDIS_OK)
        status = redis_tell(redis, 1, (const char *const[]){"DBSIZE"}, until_us);
    redis->optional = false;
    return status;
}

/* Redis says nothing on an idle session but goodbye; TLS may have a ticket to deliver. */
static bool idle_session_lives(struct redis *redis)
{
    struct pollfd fd = {.fd = redis->context->fd, .events = POLLIN};

    if (poll(&fd, 1, 0) == 0)
        return true;
    return redis->server->tls && redisBufferRead(redis->context) == REDIS_OK &&
           redis->context->reader->len == 0;
}

bool redis_open(struct redis *redis, int64_t until_us)
{
    struct cost before = cost_of_thread[COST_REDIS];

    redis_close(redis);
    memset(redis->sha, 0, sizeof redis->sha);
    redis->opened_us = clock_mono_us();
    enum redis_status status = open_context(redis, until_us) ? greet(redis, until_us) : REDIS_LOST;
    cost_of_thread[COST_REDIS] = before;
    if (status == REDIS_OK) {
        redis->since_us = clock_mono_us();
        breaker_close(&redis->server->breaker);
        redis_server_note_reached(redis->server);
        return true;
    }
    if (status == REDIS_REFUSED)
        redis_server_note_refusal(redis->server, redis_reason(redis));
    else if (breaker_counts(&redis->server->breaker, redis->opened_us, until_us, PROOF_US))
        redis_server_note_unreached(redis->server, redis_reason(redis));
    redis_close(redis);
    return false;
}

bool redis_connect(struct redis *redis, int64_t until_us)
{
    struct redis_server *server = redis->server;
    char why[REDIS_WHY_MAX];

    if (!redis->owner && atomic_load_explicit(&server->taken, memory_order_relaxed)) {
        redis_close(redis);
        redis_server_why(server, why);
        return error_set(&redis->error, ERROR_UNAVAILABLE, "Redis: %s", why);
    }
    if (redis_is_routed(redis))
        return redis->server->routing->connect(redis, until_us);
    if (redis->context && !redis_is_stale(redis) && idle_session_lives(redis))
        return true;
    redis_close(redis);
    if (breaker_is_open(&server->breaker)) {
        redis_server_why(server, why);
        return error_set(&redis->error, ERROR_UNAVAILABLE, "Redis, a moment ago: %s", why);
    }
    if (redis_open(redis, until_us))
        return true;
    breaker_trip(&server->breaker, redis->opened_us, until_us, PROOF_US);
    return false;
}
