#include "lib/t.h"

#include "lib/redis/redis_probe.h"

#include "lib/stack.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 16, HOST_SIZE = 64 };

redisContext *redis_probe_dial(const char *url)
{
    char host[HOST_SIZE];
    int port = 0;
    bool is_unix = strncmp(url, "unix://", strlen("unix://")) == 0;

    if (!is_unix && sscanf(url, "redis://%63[^:]:%d", host, &port) != 2)
        fail_msg("%s is no address", url);
    redisContext *context =
        is_unix ? redisConnectUnix(url + strlen("unix://")) : redisConnect(host, port);
    if (!context || context->err)
        fail_msg("Redis is not there: %s", context ? context->errstr : "no memory");
    int64_t us = t_patience_us();
    redisSetTimeout(context, (struct timeval){us / 1000000, us % 1000000}); /* one may be frozen */
    return context;
}

static redisReply *ask_at(const char *url, const char *format, va_list values)
{
    redisContext *context = redis_probe_dial(url);
    va_list copy;

    va_copy(copy, values);
    redisReply *reply = redisvCommand(context, format, copy);
    va_end(copy);
    if (!reply) {
        fail_msg("%s: %s", format, context->errstr);
        abort(); /* fail_msg has left already, which no analyzer knows */
    }
    redisFree(context);
    return reply;
}

/* The primaries of the cluster that the URL leads to; the URL itself where there is none. */
static int list_nodes(const char *url, char urls[NODES_MAX][2 * HOST_SIZE])
{
    redisContext *context = redis_probe_dial(url);
    redisReply *reply = redisCommand(context, "CLUSTER SLOTS");
    int count = 0;

    assert_non_null(reply);
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        const redisReply *node = reply->element[i]->element[2];
        bool known = false;
        char at[2 * HOST_SIZE];
        snprintf(at, sizeof at, "redis://%.40s:%lld", node->element[0]->str,
                 node->element[1]->integer);
        for (int k = 0; k < count; k++)
            known |= strcmp(urls[k], at) == 0;
        assert_true(known || count < NODES_MAX);
        if (!known)
            strcpy(urls[count++], at);
    }
    if (reply->type == REDIS_REPLY_ERROR)
        snprintf(urls[count++], sizeof urls[0], "%.120s", url);
    freeReplyObject(reply);
    redisFree(context);
    return count;
}

bool redis_probe_moved(const redisReply *reply, char url[REDIS_PROBE_URL])
{
    bool moved = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "MOVED ", 6) == 0;

    if (moved)
        snprintf(url, REDIS_PROBE_URL, "redis://%.100s", strrchr(reply->str, ' ') + 1);
    return moved;
}

/* The reply of the node that has the key. */
static redisReply *ask_owner(const char *url, const char *format, va_list values)
{
    redisReply *reply = ask_at(url, format, values);
    char owner[REDIS_PROBE_URL];

    if (!redis_probe_moved(reply, owner))
        return reply;
    freeReplyObject(reply);
    return ask_at(owner, format, values);
}

static int64_t read_reply(redisReply *reply, char *text, size_t size, const char *format)
{
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", format, reply->str);
    int64_t value =
        reply->type == REDIS_REPLY_INTEGER ? reply->integer : reply->type != REDIS_REPLY_NIL;
    if (text)
        snprintf(text, size, "%s", reply->type == REDIS_REPLY_STRING ? reply->str : "");
    freeReplyObject(reply);
    return value;
}

static int64_t ask(const char *url, char *text, size_t size, const char *format, va_list values)
{
    char urls[NODES_MAX][2 * HOST_SIZE];
    int64_t value = 0;

    if (strcmp(format, "FLUSHALL") != 0 && strncmp(format, "CONFIG", 6) != 0)
        return read_reply(ask_owner(url, format, values), text, size, format);
    for (int i = list_nodes(url, urls); i-- > 0;)
        value = read_reply(ask_at(urls[i], format, values), text, size, format);
    return value;
}

int64_t redis_probe(char *text, size_t size, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    int64_t value = ask(stack_redis(), text, size, format, values);
    va_end(values);
    return value;
}

int64_t redis_probe_at(const char *url, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    int64_t value = ask(url, NULL, 0, format, values);
    va_end(values);
    return value;
}

int64_t redis_probe_sum(const char *section, const char *name)
{
    char urls[NODES_MAX][2 * HOST_SIZE];
    int64_t sum = 0;

    for (int i = list_nodes(stack_redis(), urls); i-- > 0;) {
        redisContext *context = redis_probe_dial(urls[i]);
        redisReply *reply = redisCommand(context, "INFO %s", section);
        assert_true(reply && reply->type == REDIS_REPLY_STRING);
        const char *at = strstr(reply->str, name);
        sum += at ? atoll(at + strlen(name)) : 0;
        freeReplyObject(reply);
        redisFree(context);
    }
    return sum;
}

int64_t redis_probe_calls(const char *command)
{
    return redis_probe_sum("commandstats", t_text("cmdstat_%s:calls=", command));
}
