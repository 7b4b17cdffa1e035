/* See forget.h. */
#include "loadtest/faults/forget.h"

#include "loadtest/judge/redis_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One script: nothing else runs meanwhile. */
static const char script[] = "local keys = redis.call('KEYS', ARGV[1]) "
                             "for _, key in ipairs(keys) do redis.call('DEL', key) end "
                             "return #keys";

static bool forget_in(const char *url, const char *system_name, int64_t *keys, struct error *error)
{
    redisContext *redis = redis_link_open(url, error);
    if (!redis)
        return false;
    redisReply *reply = redis_link_ask(redis, error, "EVAL %s 0 *%s*", script, system_name);
    *keys += reply ? reply->integer : 0;
    freeReplyObject(reply);
    redisFree(redis);
    return reply != NULL;
}

static bool forget_in_majority(const char *urls, const char *system_name, int64_t *keys,
                               struct error *error)
{
    char *copy = strdup(urls);
    char *rest = NULL;
    size_t nodes = 1;
    bool good = copy != NULL || error_fail(error, "out of memory");
    for (const char *at = urls; *at; at++)
        nodes += *at == ',';
    char *url = good ? strtok_r(copy, ",", &rest) : NULL;
    for (size_t i = 0; good && url && i < nodes / 2 + 1; i++) {
        good = forget_in(url, system_name, keys, error);
        url = strtok_r(NULL, ",", &rest);
    }
    free(copy);
    return good;
}

bool forget_keys(const struct fault_site *site, int64_t *keys, struct error *error)
{
    const struct options *options = site->options;
    bool good = true;
    *keys = 0;
    if (api_needs(site->strategy, "redis"))
        good = forget_in(site->redis, options->system_name, keys, error);
    if (good && api_needs(site->strategy, "stock-redis"))
        good = forget_in(options->stock_redis, options->system_name, keys, error);
    if (good && api_needs(site->strategy, "redlock"))
        good = forget_in_majority(options->redlock, options->system_name, keys, error);
    return good;
}
