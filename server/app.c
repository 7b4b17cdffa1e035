/*
 * The start, in order: signals, PostgreSQL and Redis (parsed, not waited for), the edge's socket,
 * the schema if PostgreSQL answers now, the threads, then "listening on …" on stdout. A backend
 * that is absent is a warning: the background thread picks it up when it comes. What cannot mend
 * itself ends the start: a bad flag, a port that is taken, a schema newer than this server.
 */
#include "app.h"

#include "api/routes.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/stop.h"
#include "dispatch/dispatch.h"
#include "http/http.h"
#include "lock/memcache.h"
#include "lock/redis/redlock.h"
#include "lock/renewer.h"
#include "lock/zookeeper/zookeeper.h"
#include "metrics/metrics.h"
#include "postgres/pg.h"
#include "rabbitmq/rabbit.h"
#include "redis/redis.h"
#include "strategy/parking.h"
#include "strategy/strategy.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_BAD_START = 2,
    FIRST_CONTACT_US = 5000000,
    FIRST_SURVEY_US = 1000000,
    BACKENDS_MAX = 7 + REDLOCK_NODES_MAX,
    STATEMENT_MARGIN_MS = 60000
};

/* What has a row in GET /readyz has a gauge. */
struct backend {
    struct services *services; /* borrowed: app */
    char name[24];
    bool up;
};

struct app {
    struct services services;
    struct backend backends[BACKENDS_MAX];
    int backend_count;
    struct http *http;
    struct dispatch *dispatch;
};

/* What would end the process unasked. */
static void ignore_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGHUP, &ignore, NULL);
}

/* Why what the Redis of --stock-redis holds may be lost, in words. */
static const char *stock_redis_flaw(const struct redis_server *server)
{
    unsigned flaws = redis_server_flaws(server);

    if (flaws & REDIS_NO_APPEND_FILE)
        return "not durable: appendonly is not yes, a crash loses every 202";
    if (flaws & REDIS_LAZY_FSYNC)
        return "not durable: appendfsync is not always, a crash loses the newest 202s";
    if (flaws & REDIS_EVICTS)
        return "not safe: maxmemory-policy is not noeviction, stock and 202s may be evicted";
    if (flaws & REDIS_SILENT)
        return "durability unknown: CONFIG GET is not allowed";
    return "";
}

typedef void add_row(void *to, const char *backend, bool up, const char *detail);

/* Redis's own words; for one that serves, `flaw`. */
static void add_redis(struct redis_server *server, const char *name, const char *flaw, add_row *row,
                      void *to)
{
    char why[REDIS_WHY_MAX];

    redis_server_why(server, why);
    row(to, name, !why[0], why[0] ? why : flaw);
}

/* The lock, which needs a majority of them, and each node. */
static void add_redlock(const struct redlock *redlock, add_row *row, void *to)
{
    bool up = redlock_up(redlock);

    row(to, "redlock", up, up ? "" : "no majority of the nodes serves");
    for (int i = 0; i < redlock_count(redlock); i++) {
        char name[24];

        snprintf(name, sizeof name, "redlock-%d", i + 1);
        add_redis(redlock_node(redlock, i), name, "", row, to);
    }
}

static bool read_health(void *context, struct store_durability *durability, add_row *row, void *to)
{
    const struct services *services = context;
    bool up = store_up(services->store);
    bool fit = up && store_ready(services->store);
    const char *trouble = store_trouble(services->store);
    bool ready = fit && !*trouble;

    *durability = store_durability(services->store);
    row(to, "postgresql", ready, fit ? trouble : up ? "the schema is not usable" : "out of reach");
    if (services->redis)
        add_redis(services->redis, "redis", "", row, to);
    if (services->stock_redis)
        add_redis(services->stock_redis, "stock-redis", stock_redis_flaw(services->stock_redis),
                  row, to);
    if (services->redlock)
        add_redlock(services->redlock, row, to);
    if (services->memcache)
        row(to, "memcached", memcache_up(services->memcache),
            memcache_up(services->memcache) ? "" : "out of reach");
    if (services->zookeeper)
        row(to, "zookeeper", zookeeper_up(services->zookeeper),
            zookeeper_up(services->zookeeper) ? "" : "out of reach");
    if (services->broker)
        row(to, "rabbitmq", broker_up(services->broker),
            broker_up(services->broker) ? "" : "out of reach");
    return ready;
}

static bool check_strategy(const struct services *services, struct error *error)
{
    const char *name = services->settings->default_strategy;

    if (!strategy_find(name))
        return error_set(error, ERROR_INVALID,
                         "--default-strategy: there is no strategy \"%s\"; --help lists them",
                         name);
    return true;
}

static bool open_locks_elsewhere(struct services *services, struct error *error)
{
    const struct settings *settings = services->settings;

    if (settings->redlock[0]) {
        services->redlock = redlock_create(settings->redlock, error);
        if (!services->redlock)
            return false;
    }
    if (settings->memcached[0] && memcache_built()) {
        services->memcache = memcache_create(settings->memcached, error);
        if (!services->memcache)
            return false;
    }
    if (settings->zookeeper[0] && zookeeper_built()) {
        services->zookeeper = zookeeper_create(settings->zookeeper, settings, error);
        if (!services->zookeeper)
            return false;
    }
    return true;
}

static bool open_backends(struct services *services, struct error *error)
{
    const struct settings *settings = services->settings;
    struct store_limits limits = {
        .statement_ms = settings->work_timeout_ms + STATEMENT_MARGIN_MS,
        .idle_in_transaction_ms = settings->work_timeout_ms,
    };

    services->store = store_create(settings->database, limits, error);
    if (!services->store)
        return false;
    services->parking = parking_create((int)settings->queue_capacity);
    if (!services->parking)
        return error_set(error, ERROR_INTERNAL, "out of memory");
    if (settings->amqp[0] && broker_built()) {
        services->broker = broker_create(settings->amqp, error);
        if (!services->broker)
            return false;
    }
    if (!open_locks_elsewhere(services, error))
        return false;
    const char *stock_redis = settings->stock_redis[0] ? settings->stock_redis : settings->redis;
    if (stock_redis[0]) {
        services->stock_redis = redis_server_create(stock_redis, error);
        if (!services->stock_redis) {
            error_prefix(error, "--stock-redis");
            return false;
        }
    }
    if (!settings->redis[0])
        return true;
    services->redis = redis_server_create(settings->redis, error);
    if (!services->redis) {
        error_prefix(error, "--redis");
        return false;
    }
    services->renewer = renewer_create(services->redis, settings);
    return services->renewer || error_set(error, ERROR_INTERNAL, "cannot start the renewer thread");
}

/* False only for what waiting would not mend. */
static bool first_contact(struct services *services, struct error *error)
{
    struct pg *pg = pg_create(services->store);
    int64_t until_us = clock_mono_us() + FIRST_CONTACT_US;

    bool fine = pg && store_prepare(services->store, pg, until_us, until_us, error);
    pg_destroy(pg);
    if (fine || (error->code == ERROR_UNSUITABLE))
        return fine;
    log_warn("PostgreSQL: %s; starting without it, /readyz says 503 until it is there (--database)",
             error->text);
    return true;
}

/* A Redis that is absent now is asked again when it comes. */
static void first_survey(const struct services *services)
{
    if (!services->stock_redis)
        return;
    struct redis *redis = redis_create(services->stock_redis);
    int64_t until_us = clock_mono_us() + FIRST_SURVEY_US;
    if (!redis || !redis_connect(redis, until_us) || !redis_survey(redis, until_us))
        log_warn("%s; redis-stock answers 503 until it is there (--stock-redis)",
                 redis ? redis_error(redis)->text : "out of memory");
    else if (*stock_redis_flaw(services->stock_redis))
        log_warn("the Redis of redis-stock is %s (--stock-redis)",
                 stock_redis_flaw(services->stock_redis));
    redis_destroy(redis);
}

static void app_fini(struct app *app)
{
    dispatch_destroy(app->dispatch);
    strategies_stop(&app->services);
    http_destroy(app->http);
    FAILPOINT("app.http-gone");
    renewer_destroy(app->services.renewer);
    redis_server_destroy(app->services.redis);
    redis_server_destroy(app->services.stock_redis);
    broker_destroy(app->services.broker);
    parking_destroy(app->services.parking);
    redlock_destroy(app->services.redlock);
    memcache_destroy(app->services.memcache);
    zookeeper_destroy(app->services.zookeeper);
    store_destroy(app->services.store);
}

static int64_t read_one(void *context)
{
    (void)context;
    return 1;
}

static void find_backend(void *to, const char *backend, bool up, const char *detail)
{
    struct backend *at = to;

    (void)detail;
    if (strcmp(backend, at->name) == 0)
        at->up = up;
}

static int64_t read_backend(void *context)
{
    const struct backend *backend = context;
    struct backend asked = *backend; /* maybe more than one scrape */
    struct store_durability durability;

    read_health(asked.services, &durability, find_backend, &asked);
    return asked.up;
}

static void register_backend(void *to, const char *backend, bool up, const char *detail)
{
    struct app *app = to;
    struct backend *at = &app->backends[app->backend_count++];
    char labels[sizeof at->name + 16];

    (void)up;
    (void)detail;
    at->services = &app->services;
    snprintf(at->name, sizeof at->name, "%s", backend);
    snprintf(labels, sizeof labels, "backend=\"%s\"", at->name);
    metrics_gauge(METRICS_ALWAYS, "seckill_backend_up",
                  "Whether the backend serves: 1 or 0; GET /readyz says why not.", labels,
                  read_backend, at);
}

static void register_metrics(struct app *app)
{
    struct store_durability durability;

    read_health(&app->services, &durability, register_backend, app);
    metrics_gauge(METRICS_ALWAYS, "seckill_build_info", "Always 1; the labels tell the build.",
                  "version=\"" SECKILL_VERSION "\"", read_one, NULL);
    metrics_process_init();
}

static bool app_init(struct app *app, struct error *error)
{
    struct http_health health = {&app->services, read_health};

    if (!check_strategy(&app->services, error) || !open_backends(&app->services, error))
        return false;
    app->http = http_create(&app->services, health, api_routes, error);
    register_metrics(app);
    if (!app->http || !first_contact(&app->services, error))
        return false;
    first_survey(&app->services);
    app->dispatch = dispatch_create(&app->services, http_completion(app->http), error);
    return app->dispatch && strategies_start(&app->services, error);
}

int app_run(const struct settings *settings)
{
    struct app app = {.services.settings = settings};
    struct error error = {ERROR_NONE, ""};
    enum log_level level = LOG_LEVEL_INFO;

    log_level_parse(settings->log_level, &level);
    log_set_level(level);
    if (!app_init(&app, &error) || !stop_begin(&error)) {
        fprintf(stderr, "seckill-server: %s\n", error.text);
        app_fini(&app);
        return EXIT_BAD_START;
    }
    ignore_signals();
    printf("listening on %s\n", http_address(app.http));
    fflush(stdout);
    int status = http_run(app.http, app.dispatch);
    stop_set_status(status);
    app_fini(&app);
    return status;
}

char *app_strategies_help(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    if (!to)
        return NULL;
    fprintf(to, "Strategies (POST /orders?strategy=NAME):\n");
    for (size_t i = 0; i < strategy_count(); i++)
        fprintf(to, "  %-18s %s\n", strategy_at(i)->name, strategy_at(i)->summary);
    fclose(to);
    return text;
}
