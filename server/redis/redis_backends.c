/* The Redis of locks and the Redis of redis-stock as rows of the table of backends. */
#include "backend/backend.h"
#include "base/clock.h"
#include "base/log.h"
#include "redis/redis.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_SURVEY_US = 1000000, STOCK_VERSION_LEAST = 602, FLAWS_MAX = 500 };

/* Keys may be anywhere in a cluster: those of one lock stand together, as do those of one stream.
 */
static void *redis_open_at(const struct settings *settings, const char *url, const char *flag,
                           int64_t replicas, struct error *error)
{
    struct redis_server *server =
        url[0] ? redis_server_create(url, settings->redis_ca, error) : NULL;

    if (url[0] && !server)
        error_prefix(error, "%s", flag);
    if (!server)
        return NULL;
    redis_server_want_replicas(server, (int)replicas);
    if (redis_server_allow_cluster(server))
        return server;
    error_set(error, ERROR_INTERNAL, "%s: out of memory", flag);
    redis_server_destroy(server);
    return NULL;
}

static void *locks_open(const struct settings *settings, struct error *error)
{
    return redis_open_at(settings, settings->redis, "--redis", 0, error);
}

static void *stock_open(const struct settings *settings, struct error *error)
{
    bool own = settings->stock_redis[0];

    return redis_open_at(settings, own ? settings->stock_redis : settings->redis,
                         own ? "--stock-redis" : "--redis", settings->stock_redis_replicas, error);
}

static void close_server(void *server)
{
    redis_server_destroy(server);
}

static void *open_session(void *server)
{
    return redis_create(server);
}

static void close_session(void *redis)
{
    redis_destroy(redis);
}

/* Of a cluster's nodes the one that is needed is known later (redis_aim). */
static bool connect_session(void *redis, int64_t until_us, struct error *error)
{
    redis_aim(redis, -1);
    bool connected = redis_connect(redis, until_us);

    if (!connected)
        *error = *redis_error(redis);
    return connected;
}

static void add_words(char out[FLAWS_MAX], const char *words)
{
    size_t length = strlen(out);

    snprintf(out + length, FLAWS_MAX - length, "%s%s", length > 0 ? "; " : "", words);
}

/* All that is wrong with the Redis of --stock-redis though it serves; "": nothing. */
static void stock_flaws(const struct redis_server *server, char out[FLAWS_MAX])
{
    unsigned flaws = redis_server_flaws(server);

    *out = '\0';
    if (flaws & REDIS_NO_APPEND_FILE)
        add_words(out, "not durable: appendonly is not yes, a crash loses every 202");
    else if (flaws & REDIS_LAZY_FSYNC && redis_server_replicas(server) > 0)
        add_words(out, "slow: appendfsync is not always, a 202 waits for it");
    else if (flaws & REDIS_LAZY_FSYNC)
        add_words(out, "not durable: appendfsync is not always, a crash loses the newest 202s");
    if (redis_server_lags(server))
        add_words(out, "no 202s: fewer replicas than --stock-redis-replicas asks for flush in time "
                       "what it writes (appendonly yes, appendfsync always), orders wait for "
                       "PostgreSQL");
    if (flaws & REDIS_EVICTS)
        add_words(out,
                  "not safe: maxmemory-policy is not noeviction, stock and 202s may be evicted");
    if (flaws & REDIS_SILENT)
        add_words(out, "durability unknown: CONFIG GET is not allowed");
    if (flaws & REDIS_NAMELESS)
        add_words(out, "version unknown: INFO is not allowed");
}

/* Also so that the strategies are listed as they are from the start. */
static bool locks_greet(void *server, struct error *error)
{
    struct redis *redis = redis_create(server);
    int64_t until_us = clock_mono_us() + FIRST_SURVEY_US;

    (void)error;
    if (redis && redis_connect(redis, until_us) && redis_survey(redis, until_us) &&
        *redis_server_lock_flaw(server))
        log_warn("the Redis of the locks is %s (--redis)", redis_server_lock_flaw(server));
    redis_destroy(redis);
    return true;
}

/* A Redis that is absent now is asked again when it comes. */
static bool stock_greet(void *server, struct error *error)
{
    struct redis *redis = redis_create(server);
    int64_t until_us = clock_mono_us() + FIRST_SURVEY_US;
    char flaws[FLAWS_MAX];

    (void)error;
    if (!redis || !redis_connect(redis, until_us) || !redis_survey(redis, until_us))
        log_warn("%s; redis-stock answers 503 until it is there (--stock-redis)",
                 redis ? redis_error(redis)->text : "out of memory");
    stock_flaws(server, flaws);
    if (*flaws)
        log_warn("the Redis of redis-stock is %s (--stock-redis)", flaws);
    if (redis_server_replicas_unfit(server))
        log_warn("%s; redis-stock answers 503", redis_server_replicas_unfit(server));
    redis_destroy(redis);
    return true;
}

static void locks_health(void *server, backend_report *report, void *to)
{
    redis_server_report(server, "redis", redis_server_lock_flaw(server), report, to);
}

static void stock_health(void *server, backend_report *report, void *to)
{
    char flaws[FLAWS_MAX];

    stock_flaws(server, flaws);
    if (redis_server_replicas_unfit(server))
        report(to, "stock-redis", false, redis_server_replicas_unfit(server));
    else
        redis_server_report(server, "stock-redis", flaws, report, to);
}

static const char *locks_unfit(void *server)
{
    return redis_server_is_cluster(server) && !redis_server_allows_cluster(server)
               ? "the Redis of --redis is a node of a cluster, which is reached by redis[s]:// "
                 "alone"
               : NULL;
}

/* Older than any that was tried; 0: nobody has asked it yet. */
static const char *stock_unfit(void *server)
{
    int version = redis_server_version(server);

    if (redis_server_is_cluster(server) && !redis_server_allows_cluster(server))
        return "the Redis of --stock-redis (by default that of --redis) is a node of a cluster, "
               "which is reached by redis[s]:// alone";
    return version != 0 && version < STOCK_VERSION_LEAST
               ? "the Redis of --stock-redis is older than 6.2"
               : redis_server_replicas_unfit(server);
}

static void locks_probe(void *redis, int node, const struct settings *settings, int64_t until_us)
{
    struct redis_needs needs = {.of = "locks", .subscribes = true};

    (void)node;
    /* Where a user's rights end at the keys that are in use, these are among them. */
    snprintf(needs.absent, sizeof needs.absent, "%s:lock:probe", settings->system_name);
    snprintf(needs.hash, sizeof needs.hash, "%s:lock-probe", settings->system_name);
    redis_probe_health(redis, "--redis", &needs, until_us);
}

static void stock_probe(void *redis, int node, const struct settings *settings, int64_t until_us)
{
    struct redis_needs needs = {.of = "stock"};

    (void)node;
    snprintf(needs.absent, sizeof needs.absent, "{%s}:stock:probe", settings->system_name);
    snprintf(needs.hash, sizeof needs.hash, "{%s}:stock:probe-hash", settings->system_name);
    snprintf(needs.kept, sizeof needs.kept, "{%s}:stock:probe-kept", settings->system_name);
    redis_probe_health(redis, "--stock-redis", &needs, until_us);
}

const struct backend backend_redis = {
    .name = "redis",
    .absent = "Redis is not configured (--redis)",
    .open = locks_open,
    .close = close_server,
    .session_open = open_session,
    .session_close = close_session,
    .connect = connect_session,
    .greet = locks_greet,
    .health = locks_health,
    .unfit = locks_unfit,
    .probe = locks_probe,
};

const struct backend backend_stock_redis = {
    .name = "stock-redis",
    .absent = "Redis is not configured (--stock-redis or --redis)",
    .open = stock_open,
    .close = close_server,
    .session_open = open_session,
    .session_close = close_session,
    .connect = connect_session,
    .greet = stock_greet,
    .health = stock_health,
    .unfit = stock_unfit,
    .probe = stock_probe,
};
