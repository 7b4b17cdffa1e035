/* See redis_link.h. */
#include "loadtest/judge/redis_link.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_LIMIT_S = 5 };

/* redis://[[user]:password@]host[:port][/db], or unix:///path. */
struct place {
    char user[128], password[256], host[256];
    int port, database;
    bool is_path; /* host is one */
};

static bool copy(char *to, size_t size, const char *from, size_t length)
{
    if (length >= size)
        return false;
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

static bool split_user(const char *from, size_t length, struct place *out)
{
    const char *colon = memchr(from, ':', length);
    size_t name = colon ? (size_t)(colon - from) : length;
    return colon && copy(out->user, sizeof out->user, from, name) &&
           copy(out->password, sizeof out->password, colon + 1, length - name - 1);
}

/* No message repeats the URL: it may hold a password. */
static bool split_url(const char *url, struct place *out, struct error *error)
{
    static const char redis[] = "redis://", path[] = "unix://";
    *out = (struct place){.port = 6379};
    if (strncmp(url, path, strlen(path)) == 0) {
        out->is_path = true;
        return copy(out->host, sizeof out->host, url + strlen(path), strlen(url) - strlen(path)) ||
               error_fail(error, "Redis's socket has too long a name");
    }
    if (strncmp(url, redis, strlen(redis)) != 0)
        return error_fail(error, "a redis:// or unix:// URL is needed to look into Redis");
    const char *at = url + strlen(redis);
    const char *user_end = strrchr(at, '@');
    if (user_end && !split_user(at, (size_t)(user_end - at), out))
        return error_fail(error, "what stands before the @ of Redis's URL is no [user]:password");
    at = user_end ? user_end + 1 : at;
    size_t host = strcspn(at, ":/");
    if (host == 0 || !copy(out->host, sizeof out->host, at, host))
        return error_fail(error, "Redis's URL has no host");
    at += host;
    if (*at == ':')
        out->port = (int)strtol(at + 1, NULL, 10);
    at += strcspn(at, "/");
    out->database = *at ? (int)strtol(at + 1, NULL, 10) : 0;
    return true;
}

redisReply *redis_link_ask(redisContext *redis, struct error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(redis, format, arguments);
    va_end(arguments);
    if (reply && reply->type != REDIS_REPLY_ERROR)
        return reply;
    error_fail(error, "Redis: %s", reply ? reply->str : redis->errstr);
    freeReplyObject(reply);
    return NULL;
}

/* Takes the reply. */
static bool is_done(redisReply *reply)
{
    freeReplyObject(reply);
    return reply != NULL;
}

static bool enter(redisContext *redis, const struct place *place, struct error *error)
{
    const char *user = place->user, *password = place->password;
    if (*password && !is_done(*user ? redis_link_ask(redis, error, "AUTH %s %s", user, password)
                                    : redis_link_ask(redis, error, "AUTH %s", password)))
        return false;
    return !place->database || is_done(redis_link_ask(redis, error, "SELECT %d", place->database));
}

redisContext *redis_link_open(const char *url, struct error *error)
{
    const struct timeval limit = {.tv_sec = CALL_LIMIT_S};
    struct place place;
    if (!split_url(url, &place, error))
        return NULL;
    redisContext *redis = place.is_path ? redisConnectUnixWithTimeout(place.host, limit)
                                        : redisConnectWithTimeout(place.host, place.port, limit);
    if (redis && !redis->err && redisSetTimeout(redis, limit) == REDIS_OK &&
        enter(redis, &place, error))
        return redis;
    if (!redis || redis->err)
        error_fail(error, "Redis: %s", redis ? redis->errstr : "out of memory");
    if (redis)
        redisFree(redis);
    return NULL;
}

int64_t redis_link_number(const char *url, const char *field)
{
    struct error ignored;
    redisContext *redis = redis_link_open(url, &ignored);
    redisReply *reply = redis ? redis_link_ask(redis, &ignored, "INFO") : NULL;
    int64_t number = -1;
    char front[64];
    snprintf(front, sizeof front, "\n%s:", field);
    const char *at = reply && reply->str ? strstr(reply->str, front) : NULL;
    if (at)
        number = strtoll(at + strlen(front), NULL, 10);
    freeReplyObject(reply);
    if (redis)
        redisFree(redis);
    return number;
}
