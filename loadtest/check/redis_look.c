/* See redis_look.h. */
#include "loadtest/check/redis_look.h"

#include "base/clock.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALL_LIMIT_S = 5,
    QUIET_LIMIT_US = 5000000,
    SCAN_LIMIT_US = 30000000,
    LOOK_AGAIN_US = 50000
};

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
        return error_fail(error, "check takes redis:// and unix:// URLs");
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

/* A reply, or NULL with the error. Owned by the caller. */
__attribute__((format(printf, 3, 4))) static redisReply *
ask(redisContext *redis, struct error *error, const char *format, ...)
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

static bool enter(redisContext *redis, const struct place *place, struct error *error)
{
    redisReply *reply = NULL;
    bool good = true;
    if (*place->password) {
        reply = *place->user ? ask(redis, error, "AUTH %s %s", place->user, place->password)
                             : ask(redis, error, "AUTH %s", place->password);
        good = reply != NULL;
        freeReplyObject(reply);
    }
    if (good && place->database) {
        reply = ask(redis, error, "SELECT %d", place->database);
        good = reply != NULL;
        freeReplyObject(reply);
    }
    return good;
}

/* NULL with the error. */
static redisContext *open_redis(const char *url, struct error *error)
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

static int64_t number_of(const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        return reply->integer;
    return reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : 0;
}

/* A product's mirror of this sale; *there is false where there is none. */
static bool look_at_mirror(redisContext *redis, const char *system_name,
                           const struct ledger_product *product, struct row_mirror *out,
                           bool *there, struct error *error)
{
    *there = false;
    redisReply *mirror = ask(redis, error, "HMGET {%s}:stock:mirror:%lld epoch stock", system_name,
                             (long long)product->id);
    if (!mirror)
        return false;
    bool loaded = mirror->type == REDIS_REPLY_ARRAY && mirror->elements == 2 &&
                  mirror->element[1]->type == REDIS_REPLY_STRING &&
                  number_of(mirror->element[0]) == product->epoch;
    if (loaded)
        *out = (struct row_mirror){.product = product->id, .stock = number_of(mirror->element[1])};
    freeReplyObject(mirror);
    if (!loaded)
        return true;
    redisReply *units = ask(redis, error, "HGET {%s}:stock:units %lld:%lld", system_name,
                            (long long)product->id, (long long)product->epoch);
    if (units) {
        out->reserved = number_of(units);
        *there = true;
    }
    freeReplyObject(units);
    return *there;
}

static bool look_at_mirrors(struct rows *out, redisContext *redis, const struct ledger *ledger,
                            const char *system_name, int64_t *reserved, struct error *error)
{
    out->mirrors_count = 0;
    *reserved = 0;
    for (size_t i = 0; i < ledger->products_count; i++) {
        struct row_mirror *mirror = &out->mirrors[out->mirrors_count];
        bool there;
        if (!look_at_mirror(redis, system_name, &ledger->products[i], mirror, &there, error))
            return false;
        *reserved += there ? mirror->reserved : 0;
        out->mirrors_count += there;
    }
    return true;
}

static bool look_at_stock(struct rows *out, const struct ledger *ledger,
                          const struct redis_place *place, struct error *error)
{
    const char *url = *place->stock ? place->stock : place->locks;
    int64_t until_us = clock_mono_us() + QUIET_LIMIT_US, reserved = 0;
    redisContext *redis = open_redis(url, error);
    if (!redis)
        return false;
    bool good = look_at_mirrors(out, redis, ledger, place->system_name, &reserved, error);
    while (good && reserved > 0 && clock_mono_us() < until_us) {
        clock_sleep_until(clock_mono_us() + LOOK_AGAIN_US);
        good = look_at_mirrors(out, redis, ledger, place->system_name, &reserved, error);
    }
    redisFree(redis);
    return good;
}

/* One that has no lease is nobody's to end. */
static bool look_at_lock(struct rows *out, redisContext *redis, const char *key,
                         struct error *error)
{
    redisReply *lease = ask(redis, error, "PTTL %s", key);
    if (lease && lease->integer == -1)
        out->leaseless++;
    freeReplyObject(lease);
    return lease != NULL;
}

static bool look_at_page(struct rows *out, redisContext *redis, const redisReply *page,
                         struct error *error)
{
    if (page->type != REDIS_REPLY_ARRAY || page->elements != 2)
        return error_fail(error, "Redis: what SCAN says is no page");
    const redisReply *keys = page->element[1];
    for (size_t i = 0; i < keys->elements; i++) {
        if (!look_at_lock(out, redis, keys->element[i]->str, error))
            return false;
    }
    return true;
}

static bool look_at_locks(struct rows *out, const struct redis_place *place, struct error *error)
{
    int64_t until_us = clock_mono_us() + SCAN_LIMIT_US;
    char cursor[32] = "0";
    redisContext *redis = open_redis(place->locks, error);
    bool good = redis != NULL;
    while (good) {
        redisReply *page =
            ask(redis, error, "SCAN %s MATCH %s:lock:* COUNT 1000", cursor, place->system_name);
        good = page && look_at_page(out, redis, page, error);
        if (good)
            snprintf(cursor, sizeof cursor, "%s", page->element[0]->str);
        freeReplyObject(page);
        if (strcmp(cursor, "0") == 0)
            break;
        if (good && clock_mono_us() > until_us)
            good = error_fail(error, "Redis has too many keys to look at all of them");
    }
    if (redis)
        redisFree(redis);
    return good;
}

bool redis_look(struct rows *out, const struct ledger *ledger, const struct redis_place *place,
                struct error *error)
{
    if (!*place->locks && !*place->stock)
        return true;
    out->mirrors = calloc(ledger->products_count + 1, sizeof *out->mirrors);
    if (!out->mirrors)
        return error_fail(error, "out of memory");
    return look_at_stock(out, ledger, place, error) &&
           (!*place->locks || look_at_locks(out, place, error));
}
