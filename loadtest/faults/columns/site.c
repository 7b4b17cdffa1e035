/* See fault.h: what columns share, and the trial with them. */
#include "loadtest/faults/fault.h"

#include "base/clock.h"
#include "loadtest/base/process.h"
#include "loadtest/judge/redis_link.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

bool fault_locks_a_row(const struct api_strategy *strategy)
{
    return strcmp(strategy->name, "lock-row") == 0;
}

bool fault_needs_redis(const struct api_strategy *strategy)
{
    return api_needs(strategy, "redis") || api_needs(strategy, "stock-redis") ||
           api_needs(strategy, "redlock");
}

enum { LOOK_US = 10000 };

bool fault_wait_until(struct fault_site *site, int64_t at_us)
{
    for (;;) {
        int64_t now_us = clock_mono_us();
        if (atomic_load(&site->stopping) || process_interrupted())
            return false;
        if (now_us >= at_us)
            return true;
        clock_sleep_until(clock_earlier(at_us, now_us + LOOK_US));
    }
}

enum { WORDS_MAX = 12, OWN_WORDS_MAX = 4, STEP_LIMIT_MS = 120000, OUTPUT_BYTES = 2000 };

bool fault_tell_stack(const struct fault_site *site, const char *verb, const char *server,
                      const char *signal, struct error *error)
{
    const char *argv[WORDS_MAX + OWN_WORDS_MAX] = {NULL};
    char copy[1000], output[OUTPUT_BYTES], *rest = NULL;
    size_t count = 0;
    /* Ctrl-C must not leave a backend stopped or away. */
    const struct process_capture capture = {
        .output = output, .size = sizeof output, .limit_ms = STEP_LIMIT_MS, .to_its_end = true};
    snprintf(copy, sizeof copy, "%s", site->plan->stack);
    for (char *word = strtok_r(copy, " ", &rest); word && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    argv[count++] = verb;
    argv[count++] = server;
    argv[count] = signal;
    return process_capture(argv, &capture, error);
}

/* One script: nothing else runs meanwhile. */
static const char script[] = "local keys = redis.call('KEYS', ARGV[1]) "
                             "for _, key in ipairs(keys) do redis.call('DEL', key) end "
                             "return #keys";
enum { URL_SIZE = 1000 };

static bool forget_in(struct fault_site *site, const char *url, struct error *error)
{
    redisContext *redis = redis_link_open(url, error);
    if (!redis)
        return false;
    redisReply *reply =
        redis_link_ask(redis, error, "EVAL %s 0 *%s*", script, site->options.system_name);
    site->forgotten += reply ? reply->integer : 0;
    freeReplyObject(reply);
    redisFree(redis);
    return reply != NULL;
}

static bool forget_in_majority(struct fault_site *site, struct error *error)
{
    const char *urls = site->options.redlock;
    size_t nodes = 1;
    bool good = true;
    for (const char *at = urls; *at; at++)
        nodes += *at == ',';
    for (size_t i = 0; good && i < nodes / 2 + 1; i++) {
        char url[URL_SIZE];
        urls += strspn(urls, ",");
        size_t length = strcspn(urls, ",");
        snprintf(url, sizeof url, "%.*s", (int)length, urls);
        urls += length;
        good = forget_in(site, url, error);
    }
    return good;
}

/* The locks' Redis is asked itself, where the servers have a relay. */
bool fault_forget_keys(struct fault_site *site, struct error *error)
{
    const struct api_strategy *strategy = site->plan->strategy;
    return (!api_needs(strategy, "redis") || forget_in(site, site->plan->options->redis, error)) &&
           (!api_needs(strategy, "stock-redis") ||
            forget_in(site, site->options.stock_redis, error)) &&
           (!api_needs(strategy, "redlock") || forget_in_majority(site, error));
}
