/*
 * The start, in order: signals, PostgreSQL and Redis (parsed, not waited for), the edge's socket,
 * the schema if PostgreSQL answers now, the threads, then "listening on …" on stdout. A backend
 * that is absent is a warning: the background thread picks it up when it comes. A stop ends the
 * start within STOP_GRACE_US. What cannot mend itself ends it, too: a bad flag, a port that is
 * taken, a schema newer than this server.
 */
#include "app.h"

#include "api/routes.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/options/nearest.h"
#include "base/stop.h"
#include "dispatch/dispatch.h"
#include "http/http.h"
#include "lock/renewer.h"
#include "metrics/metrics.h"
#include "sale/flusher.h"
#include "strategies/strategies.h"
#include "strategy/backends.h"
#include "strategy/cost_accounting.h"
#include "strategy/parking.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FLUSHER_SESSIONS: with fewer in all, every one is a worker's or a reader's. */
enum { EXIT_BAD_START = 2, FLUSHER_SESSIONS = 8 };

/* Each row of GET /readyz has a gauge. */
struct gauge {
    const struct services *services; /* borrowed: app */
    char name[24];
    bool up;
};

struct app {
    struct services services;
    struct gauge *gauges; /* owned */
    int gauge_count;
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

bool app_check(const struct settings *settings, struct error *error)
{
    const char *name = settings->default_strategy;

    struct nearest nearest = nearest_to(name, strlen(name));
    char meant[NEAREST_TEXT_SIZE];

    if (strategy_find(name))
        return true;
    for (size_t i = 0; i < strategy_count(); i++)
        nearest_offer(&nearest, strategy_at(i)->name);
    return error_set(error, ERROR_INVALID,
                     "--default-strategy: there is no strategy \"%s\" (--help lists them)%s", name,
                     nearest_text(&nearest, "", meant));
}

static bool open_services(struct services *services, struct error *error)
{
    const struct settings *settings = services->settings;

    services->metrics = metrics_create();
    services->strategies = &strategy_list;
    services->costs = cost_counters_create(services->metrics, services->strategies);
    services->parking = parking_create((int)settings->queue_capacity);
    if (!services->costs || !services->parking)
        return error_set(error, ERROR_INTERNAL, "out of memory");
    if (!backends_open(services, error))
        return false;
    services->flusher = settings->pg_sessions < FLUSHER_SESSIONS ? NULL : flusher_create(services);
    if (!services->flusher && settings->pg_sessions >= FLUSHER_SESSIONS)
        return error_set(error, ERROR_INTERNAL, "out of memory");
    if (!services->backends[BACKEND_REDIS])
        return true;
    services->renewer = renewer_create(services->backends[BACKEND_REDIS], settings);
    return services->renewer || error_set(error, ERROR_INTERNAL, "cannot start the renewer thread");
}

void app_destroy(struct app *app)
{
    if (!app)
        return;
    dispatch_destroy(app->dispatch);
    strategies_stop(&app->services);
    http_destroy(app->http);
    FAILPOINT("app.http-gone");
    renewer_destroy(app->services.renewer);
    flusher_destroy(app->services.flusher);
    parking_destroy(app->services.parking);
    backends_close(&app->services);
    cost_counters_destroy(app->services.costs);
    metrics_destroy(app->services.metrics);
    free(app->gauges);
    free(app);
}

static int64_t read_one(void *context)
{
    (void)context;
    return 1;
}

static void find_gauge(void *to, const char *name, bool up, const char *detail)
{
    struct gauge *at = to;

    (void)detail;
    if (strcmp(name, at->name) == 0)
        at->up = up;
}

static int64_t read_gauge(void *context)
{
    struct gauge asked = *(const struct gauge *)context; /* maybe more than one scrape */

    backends_report(asked.services, find_gauge, &asked);
    return asked.up;
}

static void count_gauge(void *to, const char *name, bool up, const char *detail)
{
    struct app *app = to;

    (void)name;
    (void)up;
    (void)detail;
    app->gauge_count++;
}

static void register_gauge(void *to, const char *name, bool up, const char *detail)
{
    struct app *app = to;
    struct gauge *at = &app->gauges[app->gauge_count++];
    char labels[sizeof at->name + 16];

    (void)up;
    (void)detail;
    at->services = &app->services;
    snprintf(at->name, sizeof at->name, "%s", name);
    snprintf(labels, sizeof labels, "backend=\"%s\"", at->name);
    metrics_gauge(app->services.metrics, METRICS_ALWAYS, "seckill_backend_up",
                  "Whether the backend serves: 1 or 0; GET /readyz says why not.", labels,
                  read_gauge, at);
}

static void register_cell(struct app *app)
{
    const struct settings *settings = app->services.settings;
    char labels[48];

    snprintf(labels, sizeof labels, "cell=\"%u\",cells=\"%u\"", settings->cell_number,
             settings->cells);
    metrics_gauge(app->services.metrics, METRICS_ALWAYS, "seckill_cell_info",
                  "Always 1; the labels tell which of how many cells this is (--cell).", labels,
                  read_one, NULL);
}

static bool register_metrics(struct app *app, struct error *error)
{
    backends_report(&app->services, count_gauge, app);
    app->gauges = calloc((size_t)app->gauge_count, sizeof *app->gauges);
    if (!app->gauges)
        return error_set(error, ERROR_INTERNAL, "out of memory");
    app->gauge_count = 0;
    backends_report(&app->services, register_gauge, app);
    metrics_gauge(app->services.metrics, METRICS_ALWAYS, "seckill_build_info",
                  "Always 1; the labels tell the build.", "version=\"" SECKILL_VERSION "\"",
                  read_one, NULL);
    if (app->services.settings->cells > 0)
        register_cell(app);
    metrics_process_init(app->services.metrics);
    return true;
}

static bool app_init(struct app *app, struct error *error)
{
    if (!open_services(&app->services, error))
        return false;
    app->http = http_create(&app->services, api_routes, error);
    if (!register_metrics(app, error) || !app->http || !backends_greet(&app->services, error))
        return false;
    app->dispatch = dispatch_create(&app->services, http_completion(app->http), error);
    if (!app->dispatch || !strategies_start(&app->services, error))
        return false;
    dispatch_sweep(app->dispatch);
    return true;
}

struct app *app_create(const struct settings *settings, struct error *error)
{
    struct app *app = calloc(1, sizeof *app);

    if (!app) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    app->services.settings = settings;
    if (app_init(app, error))
        return app;
    app_destroy(app);
    return NULL;
}

const char *app_address(const struct app *app)
{
    return http_address(app->http);
}

int app_serve(struct app *app)
{
    return http_run(app->http, app->dispatch);
}

int app_run(const struct settings *settings)
{
    struct error error = {ERROR_NONE, ""};
    enum log_level level = LOG_LEVEL_INFO;

    log_level_parse(settings->log_level, &level);
    log_set_level(level);
    ignore_signals();
    stop_set_status(0); /* nothing is accepted yet: a start that is slow need not be waited for */
    struct app *app = stop_begin(&error) ? app_create(settings, &error) : NULL;
    if (!app) {
        fprintf(stderr, "seckill-server: %s\n", error.text);
        return EXIT_BAD_START;
    }
    if (!settings->admin_token[0])
        log_warn(
            "no --admin-token: every client of this machine's loopback may set up products, and "
            "a proxy on it counts as one unless it marks what it passes on");
    printf("listening on %s\n", app_address(app));
    fflush(stdout);
    stop_set_status(EXIT_FAILURE);
    int status = app_serve(app);
    stop_set_status(status);
    app_destroy(app);
    return status;
}
