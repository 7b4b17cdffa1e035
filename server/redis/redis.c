/*
 * Calls on a session with Redis (redis_open.c opens it).
 *
 * hiredis formats commands and parses replies; the waiting is ours, so that one absolute deadline
 * bounds a call however many reads and writes it takes: the context is non-blocking, and poll(2)
 * waits. hiredis 0.14 and 1.x behave alike in what is used here.
 */
#include "redis/cluster/map.h"
#include "redis/redis_internal.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "metrics/cost.h"

#include <hiredis/sds.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "Redis: "
enum { STALE_EVERY_US = 250000 };

struct redis *redis_create(struct redis_server *server)
{
    struct redis *redis = calloc(1, sizeof *redis);

    if (redis)
        redis->server = server;
    return redis;
}

void redis_close(struct redis *redis)
{
    if (redis->context)
        redisFree(redis->context);
    redis->context = NULL;
    if (redis->route)
        redis->server->routing->close(redis);
}

void redis_destroy(struct redis *redis)
{
    if (!redis)
        return;
    redis_close(redis);
    redis_destroy(redis->listener);
    if (redis->route)
        redis->server->routing->forget(redis);
    free(redis);
}

struct redis_server *redis_server_of(const struct redis *redis)
{
    return redis->server;
}

int64_t redis_since_us(const struct redis *redis)
{
    return redis_is_routed(redis) ? redis->server->routing->since_us(redis) : redis->since_us;
}

void redis_aim(struct redis *redis, int slot)
{
    redis->aim = slot + 1;
}

struct redis *redis_last(struct redis *redis)
{
    struct redis *last = redis_is_routed(redis) ? redis->server->routing->last(redis) : NULL;

    return last ? last : redis;
}

const struct error *redis_error(const struct redis *redis)
{
    return &redis->error;
}

const char *redis_reason(const struct redis *redis)
{
    return redis->error.text + strlen(PREFIX);
}

bool redis_is_moving(const struct redis *redis)
{
    return redis->moving;
}

enum redis_status redis_lose(struct redis *redis, enum error_code code, const char *why)
{
    error_set(&redis->error, code, PREFIX "%s", why && *why ? why : "the connection broke");
    redis_close(redis);
    return REDIS_LOST;
}

static enum redis_status flush(struct redis *redis, int64_t until_us)
{
    for (int done = 0; !done;) {
        if (redisBufferWrite(redis->context, &done) != REDIS_OK)
            return redis_lose(redis, ERROR_UNAVAILABLE, redis->context->errstr);
        struct pollfd fd = {.fd = redis->context->fd, .events = POLLOUT};
        if (!done && (poll(&fd, 1, clock_poll_ms(until_us)) == 0 || clock_mono_us() >= until_us))
            return redis_lose(redis, ERROR_TIMEOUT, "no answer in time");
    }
    return REDIS_OK;
}

bool redis_is_stale(const struct redis *redis)
{
    return redis->opened_us <= atomic_load_explicit(&redis->server->stale_us, memory_order_relaxed);
}

/* Words of a cluster's node that has to be asked elsewhere. They tell that there is a cluster. */
static bool is_direction(struct redis_server *server, const char *words)
{
    enum redis_direction direction = redis_direction_read(words, "", NULL);

    if (server->cluster && direction != REDIS_STAYS)
        atomic_store_explicit(&server->clustered, true, memory_order_relaxed);
    return server->cluster ? direction != REDIS_STAYS
                           : server->of && direction != REDIS_STAYS && direction != REDIS_DOWN;
}

/* The address may have moved to a server that does it: whatever was opened before now is opened
 * anew by its next redis_connect, those who only read too, which a demoted server would go on to
 * answer from what it had. At most so often, or each order would make a connection. */
void redis_caught(struct redis *redis, const char *words)
{
    struct redis_server *server = redis->server;
    int64_t now_us = clock_mono_us();

    if (redis->optional || !redis_is_refusal(words) || is_direction(server, words))
        return;
    redis_server_note_refusal(server, words);
    if (now_us - atomic_load_explicit(&server->stale_us, memory_order_relaxed) >= STALE_EVERY_US)
        atomic_store_explicit(&server->stale_us, now_us, memory_order_relaxed);
    if (redis_is_stale(redis))
        redis_close(redis);
}

enum redis_status redis_read(struct redis *redis, int64_t until_us, redisReply **out)
{
    void *reply = NULL;

    *out = NULL;
    if (!redis->context)
        return redis_lose(redis, ERROR_UNAVAILABLE, "not connected");
    /* Something that comes all the time, and is no reply yet, does not put the end off. */
    for (bool late = false;; late = clock_mono_us() >= until_us) {
        if (redisGetReplyFromReader(redis->context, &reply) != REDIS_OK)
            return redis_lose(redis, ERROR_UNAVAILABLE, redis->context->errstr);
        if (reply)
            break;
        if (late)
            return REDIS_OK;
        size_t had = redis->context->reader->len;
        /* TLS may have taken more from the socket than it has handed out. */
        if (redis->server->tls && redisBufferRead(redis->context) != REDIS_OK)
            return redis_lose(redis, ERROR_UNAVAILABLE, redis->context->errstr);
        if (redis->context->reader->len == had) {
            struct pollfd fd = {.fd = redis->context->fd, .events = POLLIN};
            if (poll(&fd, 1, clock_poll_ms(until_us)) > 0 &&
                redisBufferRead(redis->context) != REDIS_OK)
                return redis_lose(redis, ERROR_UNAVAILABLE, redis->context->errstr);
        }
        cost_add(COST_REDIS, COST_BYTES, redis->context->reader->len - had);
    }
    *out = reply;
    if ((*out)->type != REDIS_REPLY_ERROR)
        return REDIS_OK;
    error_set(&redis->error, ERROR_UNAVAILABLE, PREFIX "%s", (*out)->str);
    redis_caught(redis, (*out)->str);
    return REDIS_REFUSED;
}

enum redis_status redis_receive(struct redis *redis, int64_t until_us, redisReply **out)
{
    enum redis_status status = redis_read(redis, until_us, out);

    if (status == REDIS_OK && !*out)
        return redis_lose(redis, ERROR_TIMEOUT, "no answer in time");
    return status;
}

/* The next reply is the command's, and it is not sent again if this one is none. */
static enum redis_status receive_asking(struct redis *redis, int64_t until_us)
{
    redisReply *reply = NULL;
    enum redis_status status = redis_receive(redis, until_us, &reply);

    if (reply)
        freeReplyObject(reply);
    return status == REDIS_REFUSED ? redis_lose(redis, ERROR_UNAVAILABLE, "ASKING was refused")
                                   : status;
}

enum redis_status redis_command(struct redis *redis, int count, const char *const *arguments,
                                int64_t until_us, redisReply **out)
{
    const char *argv[REDIS_ARGUMENTS_MAX];

    *out = NULL;
    if (!redis->context)
        return redis_lose(redis, ERROR_UNAVAILABLE, "not connected");
    if (count > REDIS_ARGUMENTS_MAX)
        abort();
    memcpy(argv, arguments, (size_t)count * sizeof *argv);
    if ((redis->asking && redisAppendCommand(redis->context, "ASKING") != REDIS_OK) ||
        redisAppendCommandArgv(redis->context, count, argv, NULL) != REDIS_OK)
        return redis_lose(redis, ERROR_INTERNAL, redis->context->errstr);
    cost_add(COST_REDIS, COST_STATEMENTS, 1);
    cost_add(COST_REDIS, COST_ROUND_TRIPS, 1);
    cost_add(COST_REDIS, COST_BYTES, sdslen(redis->context->obuf));
    enum redis_status status = flush(redis, until_us);
    if (status == REDIS_OK && redis->asking)
        status = receive_asking(redis, until_us);
    return status == REDIS_OK ? redis_receive(redis, until_us, out) : status;
}

enum redis_status redis_tell(struct redis *redis, int count, const char *const *arguments,
                             int64_t until_us)
{
    redisReply *reply = NULL;
    enum redis_status status = redis_command(redis, count, arguments, until_us, &reply);

    if (reply)
        freeReplyObject(reply);
    return status;
}

enum redis_status redis_run(struct redis *redis, const struct redis_request *request,
                            redisReply **reply)
{
    if (!redis_is_routed(redis)) {
        enum redis_status status = request->send(redis, request, reply);
        if (status != REDIS_REFUSED || !redis_is_routed(redis))
            return status;
        /* It has just said that it is a cluster's, and has executed nothing. */
        if (*reply)
            freeReplyObject(*reply);
        redis_close(redis);
    }
    return redis->server->routing->run(redis, request, reply);
}

static enum redis_status send_command(struct redis *redis, const struct redis_request *request,
                                      redisReply **reply)
{
    return redis_command(redis, request->count, request->arguments, request->until_us, reply);
}

enum redis_status redis_run_command(struct redis *redis, int count, const char *const *arguments,
                                    int64_t until_us, redisReply **reply)
{
    return redis_run(redis,
                     &(struct redis_request){.send = send_command,
                                             .key = count > 1 ? arguments[1] : "",
                                             .count = count,
                                             .arguments = arguments,
                                             .until_us = until_us},
                     reply);
}

enum redis_status redis_send(struct redis *redis, int count, const char *const *arguments,
                             int64_t until_us)
{
    redisReply *reply = NULL;
    enum redis_status status = redis_run_command(redis, count, arguments, until_us, &reply);

    if (reply)
        freeReplyObject(reply);
    return status;
}

enum redis_status redis_ask(struct redis *redis, int count, const char *const *arguments,
                            int64_t until_us, struct redis_answer *answer)
{
    redisReply *reply = NULL;
    enum redis_status status = redis_run_command(redis, count, arguments, until_us, &reply);

    if (status == REDIS_OK && FAILPOINT_FAILS("redis.reply"))
        status = redis_lose(redis, ERROR_TIMEOUT, "a test lost the reply");
    *answer = (struct redis_answer){.type = ANSWER_NIL};
    if (status == REDIS_OK && reply->type == REDIS_REPLY_INTEGER) {
        answer->type = ANSWER_NUMBER;
        answer->number = reply->integer;
    } else if (status == REDIS_OK && reply->str) {
        answer->type = ANSWER_TEXT;
        snprintf(answer->text, sizeof answer->text, "%s", reply->str);
    }
    if (reply)
        freeReplyObject(reply);
    return status;
}

enum redis_status redis_log_in(struct redis *redis, int64_t until_us)
{
    const struct redis_url *url = &redis->server->url;

    if (!url->password[0])
        return REDIS_OK;
    return url->user[0]
               ? redis_tell(redis, 3, (const char *const[]){"AUTH", url->user, url->password},
                            until_us)
               : redis_tell(redis, 2, (const char *const[]){"AUTH", url->password}, until_us);
}

/* The time that is left is said anew to each node that it is sent to. */
static enum redis_status send_wait(struct redis *redis, const struct redis_request *request,
                                   redisReply **reply)
{
    int64_t left_us = request->until_us - clock_mono_us();
    char seconds[32];

    if (left_us < CLOCK_US_PER_MS)
        left_us = CLOCK_US_PER_MS; /* 0 would mean for ever */
    snprintf(seconds, sizeof seconds, "%lld.%03lld", (long long)(left_us / CLOCK_US_PER_S),
             (long long)(left_us % CLOCK_US_PER_S / CLOCK_US_PER_MS));
    /* Redis answers at the end of its own wait; allow it a second more before the session is given
     * up. */
    return redis_command(redis, 3, (const char *const[]){"BLPOP", request->key, seconds},
                         request->until_us + CLOCK_US_PER_S, reply);
}

enum redis_status redis_wait(struct redis *redis, const char *key, int64_t until_us, bool *popped)
{
    redisReply *reply = NULL;
    enum redis_status status = redis_run(
        redis, &(struct redis_request){.send = send_wait, .key = key, .until_us = until_us},
        &reply);

    *popped = status == REDIS_OK && reply->type == REDIS_REPLY_ARRAY;
    if (reply)
        freeReplyObject(reply);
    return status;
}
