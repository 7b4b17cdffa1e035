#include "lib/t.h"

#include "lib/redis_look.h"

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static redisReply *ask(const char *url, const char *text)
{
    if (strncmp(url, "unix://", 7) != 0)
        fail_msg("%s: the test's Redis listens on a unix socket", url);
    redisContext *context = redisConnectUnix(url + 7);
    if (!context || context->err)
        fail_msg("%s: no Redis", url);
    redisReply *reply = redisCommand(context, text);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", text, reply ? reply->str : context->errstr);
    redisFree(context);
    return reply;
}

int64_t redis_look(const char *url, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    redisReply *reply = ask(url, text);
    int64_t number = reply->integer;
    freeReplyObject(reply);
    return number;
}

int64_t redis_look_calls(const char *url, const char *command)
{
    char name[64];
    long long calls = 0;

    snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
    redisReply *reply = ask(url, "INFO commandstats");
    const char *at = strstr(reply->str, name);
    if (at)
        calls = atoll(at + strlen(name));
    freeReplyObject(reply);
    return calls;
}
