/* See rows_read.h. */
#include "loadtest/judge/evidence/rows_read.h"

#include "base/clock.h"
#include "loadtest/base/pool.h"
#include "loadtest/judge/redis_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUIET_LIMIT_US = 5000000,
    SCAN_LIMIT_US = 30000000,
    LOOK_AGAIN_US = 50000,
    AGREE_LIMIT_US = 5000000, /* the reconciler begins 0.2 s after the last entry */
    READ_AGAIN_US = 250000
};

static int64_t number_of(const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        return reply->integer;
    return reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : 0;
}

/* A product's mirror, where it has one of this sale. */
static bool look_at_mirror(struct rows *out, redisContext *redis, const char *system_name,
                           const struct ledger_product *product, struct error *error)
{
    struct row_mirror mirror = {.product = product->id};
    redisReply *reply = redis_link_ask(redis, error, "HMGET {%s}:stock:mirror:%lld epoch stock",
                                       system_name, (long long)product->id);
    if (!reply)
        return false;
    bool loaded = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                  reply->element[1]->type == REDIS_REPLY_STRING &&
                  number_of(reply->element[0]) == product->epoch;
    mirror.stock = loaded ? number_of(reply->element[1]) : 0;
    freeReplyObject(reply);
    if (!loaded)
        return true;
    reply = redis_link_ask(redis, error, "HGET {%s}:stock:units %lld:%lld", system_name,
                           (long long)product->id, (long long)product->epoch);
    if (!reply)
        return false;
    mirror.reserved = number_of(reply);
    freeReplyObject(reply);
    *(struct row_mirror *)array_add(&out->mirrors, &out->mirrors_count, sizeof mirror) = mirror;
    return true;
}

static bool look_at_mirrors(struct rows *out, redisContext *redis, const struct ledger *ledger,
                            const char *system_name, int64_t *reserved, struct error *error)
{
    bool good = true;
    out->mirrors_count = 0;
    *reserved = 0;
    for (size_t i = 0; good && i < ledger->products_count; i++)
        good = look_at_mirror(out, redis, system_name, &ledger->products[i], error);
    for (size_t i = 0; i < out->mirrors_count; i++)
        *reserved += out->mirrors[i].reserved;
    return good;
}

static bool look_at_stock(struct rows *out, const struct ledger *ledger,
                          const struct rows_place *place, struct error *error)
{
    int64_t until_us = clock_mono_us() + QUIET_LIMIT_US, reserved;
    redisContext *redis = redis_link_open(*place->stock ? place->stock : place->locks, error);
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
    redisReply *lease = redis_link_ask(redis, error, "PTTL %s", key);
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

static bool look_at_locks(struct rows *out, const struct rows_place *place, struct error *error)
{
    int64_t until_us = clock_mono_us() + SCAN_LIMIT_US;
    char cursor[32] = "0";
    redisContext *redis = redis_link_open(place->locks, error);
    bool good = redis != NULL;
    while (good) {
        redisReply *page = redis_link_ask(redis, error, "SCAN %s MATCH %s:lock:* COUNT 1000",
                                          cursor, place->system_name);
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

/* Mirrors first, so that the rows are no older. */
static bool look(struct rows *out, const struct ledger *ledger, const struct rows_place *place,
                 struct error *error)
{
    if (!*place->locks && !*place->stock)
        return true;
    return (place->nobody_sells || look_at_stock(out, ledger, place, error)) &&
           (!*place->locks || look_at_locks(out, place, error));
}

static bool agree(const struct rows *rows)
{
    for (size_t i = 0; i < rows->mirrors_count; i++) {
        const struct row_product *row = rows_find_product(rows, rows->mirrors[i].product);
        if (row && rows->mirrors[i].stock != row->stock)
            return false;
    }
    return true;
}

bool redis_look_and_read(struct rows *out, const struct ledger *ledger,
                         const struct rows_place *place, struct error *error)
{
    int64_t until_us = clock_mono_us() + AGREE_LIMIT_US;
    for (;;) {
        if (!look(out, ledger, place, error) || !rows_read(out, ledger, place, error))
            return false;
        if (agree(out) || clock_mono_us() > until_us)
            return true;
        rows_fini(out);
        *out = (struct rows){0};
        clock_sleep_until(clock_mono_us() + READ_AGAIN_US);
    }
}
