/* See redis_words.h. */
#include "loadtest/backends/redis_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool redis_words_tell(redisContext *redis, struct error *error, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    redisReply *reply = redisvCommand(redis, format, values);
    va_end(values);
    bool done = reply && reply->type != REDIS_REPLY_ERROR;
    if (!done)
        error_fail(error, "%s: %s", format, reply ? reply->str : redis->errstr);
    freeReplyObject(reply);
    return done;
}

bool redis_words_config(redisContext *redis, const char *name, char *out, size_t size,
                        struct error *error)
{
    redisReply *reply = redis_link_ask(redis, error, "CONFIG GET %s", name);
    bool known = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;

    if (known)
        snprintf(out, size, "%s", reply->element[1]->str);
    else if (reply)
        error_fail(error, "Redis has no setting %s", name);
    freeReplyObject(reply);
    return known;
}

bool redis_words_info(redisContext *redis, const char *field, char *out, size_t size,
                      struct error *error)
{
    redisReply *reply = redis_link_ask(redis, error, "INFO");
    char front[64];

    *out = '\0';
    if (!reply)
        return false;
    snprintf(front, sizeof front, "\n%s:", field);
    const char *at = strstr(reply->str, front);
    if (at) {
        at += strlen(front);
        snprintf(out, size, "%.*s", (int)strcspn(at, "\r\n"), at);
    }
    freeReplyObject(reply);
    return true;
}

int64_t redis_words_number(redisContext *redis, const char *field)
{
    struct error ignored;
    char text[64];

    return redis_words_info(redis, field, text, sizeof text, &ignored) ? strtoll(text, NULL, 10)
                                                                       : 0;
}
