#include "lib/t.h"

#include "lib/redis/redis_probe.h"

#include "lib/stack.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t ask(const char *url, char *text, size_t size, const char *format, va_list values)
{
    redisContext *context = redisConnectUnix(url + strlen("unix://"));

    if (!context || context->err)
        fail_msg("Redis is not there: %s", context ? context->errstr : "no memory");
    redisReply *reply = redisvCommand(context, format, values);
    if (!reply || reply->type == REDIS_REPLY_ERROR) {
        fail_msg("%s: %s", format, reply ? reply->str : context->errstr);
        abort(); /* fail_msg has left already, which no analyzer knows */
    }
    int64_t value =
        reply->type == REDIS_REPLY_INTEGER ? reply->integer : reply->type != REDIS_REPLY_NIL;
    if (text)
        snprintf(text, size, "%s", reply->type == REDIS_REPLY_STRING ? reply->str : "");
    freeReplyObject(reply);
    redisFree(context);
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

int64_t redis_probe_calls(const char *command)
{
    static char text[64 * 1024];
    char name[64];

    redis_probe(text, sizeof text, "INFO commandstats");
    snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
    const char *at = strstr(text, name);
    return at ? atoll(at + strlen(name)) : 0;
}
