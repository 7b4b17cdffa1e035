/* See bed.h. */
#include "bench/bed.h"

#include "loadtest/engine/client.h"
#include "loadtest/judge/connect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SPARE_DESCRIPTORS = 400, /* and some that every client_allow has */
    STANDBY_MS = 120000
};

struct bench_series *bench_series_of(struct bench *bench, const struct bench_measure *measure)
{
    return &bench->series[measure - bench_measures];
}

void bench_say(const struct bench *bench, const char *text)
{
    const struct fleet *fleet = &bench->harness.fleet;
    if (fleet->progress)
        fleet->progress(fleet->progress_context, text);
}

void bench_leave_out(struct bench_series *series, const char *why)
{
    series->absent = true;
    snprintf(series->why, sizeof series->why, "%s", why);
}

bool bench_ask(const struct bench *bench, const char *sql, char *out, size_t size,
               struct error *error)
{
    char *text = connect_qualify(sql, witness_schema(bench->harness.witness));
    if (!text)
        return error_fail(error, "out of memory");
    PGresult *result = PQexec(bench->database, text);
    free(text);
    ExecStatusType status = PQresultStatus(result);
    bool good = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
    if (size > 0)
        snprintf(out, size, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return good || connect_failed(bench->database, "PostgreSQL", error);
}

bool bench_order(const struct bench *bench, const char *sql, struct error *error)
{
    return bench_ask(bench, sql, NULL, 0, error);
}

static void ceiling_binary(const struct bench *bench, char *out, size_t size)
{
    const char *binary = bench->harness.binary;
    const char *slash = strrchr(binary, '/');
    snprintf(out, size, "%.*sseckill-bench-server", slash ? (int)(slash - binary) + 1 : 0, binary);
}

bool bench_start_ceiling(const struct bench *bench, struct instance *server, const char *name,
                         struct error *error)
{
    struct options options = *bench->harness.options;
    char binary[1300], folder[1100];
    options.redis = options.stock_redis = options.amqp = options.redlock = "";
    options.memcached = options.zookeeper = "";
    ceiling_binary(bench, binary, sizeof binary);
    snprintf(folder, sizeof folder, "%s/%s", bench->harness.folder, name);
    (void)mkdir(folder, 0755);
    return instance_start_all(server, 1, &options, binary, folder, error);
}

bool bench_has_ceiling(const struct bench *bench)
{
    char binary[1300];
    ceiling_binary(bench, binary, sizeof binary);
    return access(binary, X_OK) == 0;
}

void bench_shape(const struct bench *bench, const struct bench_measure *measure,
                 int64_t *connections, int64_t *threads)
{
    const struct options *options = bench->harness.options;
    *connections = measure->connections ? measure->connections : options->connections;
    *threads = measure->threads ? measure->threads : options->threads;
    wrk_shape(connections, threads, measure->instances ? measure->instances : 1);
}

static bool stop_instances(struct bench *bench, struct error *error)
{
    bool stopped = bench->instances == 0 || harness_close_fleet(&bench->harness, error);
    bench->instances = 0;
    return stopped;
}

static bool set_role(const struct bench *bench, const char *name, const char *value,
                     struct error *error)
{
    char sql[120];
    snprintf(sql, sizeof sql, "ALTER ROLE CURRENT_USER %s %s%s%s", value ? "SET" : "RESET", name,
             value ? " = " : "", value ? value : "");
    return bench_order(bench, sql, error);
}

static bool hold_flushes(struct bench *bench, int ms, struct error *error)
{
    char delay[20];
    snprintf(delay, sizeof delay, "%d", ms * 1000);
    if (bench->flush_ms == ms)
        return true;
    if (!set_role(bench, "commit_delay", ms ? delay : NULL, error) ||
        !set_role(bench, "commit_siblings", ms ? "0" : NULL, error))
        return false;
    bench->flush_ms = ms;
    return stop_instances(bench, error);
}

static bool wait_for_standby(struct bench *bench, bool waits, int link_ms, struct error *error)
{
    if (bench->link.relay && !way_delay(&bench->link, link_ms * INT64_C(1000), error))
        return false;
    bool alone = bench->link.relay && !waits;
    if (alone == bench->alone)
        return true;
    if (!set_role(bench, "synchronous_commit", alone ? "local" : NULL, error))
        return false;
    bench->alone = alone;
    return stop_instances(bench, error);
}

bool bench_set_commits(struct bench *bench, const struct bench_measure *measure,
                       struct error *error)
{
    static const struct bench_measure as_it_was = {.waits = true};
    if (!measure)
        measure = &as_it_was;
    else if (measure->waits && !bench->link.relay)
        return error_fail(error, "there is no standby to wait for (--standby)");
    return hold_flushes(bench, measure->flush_ms, error) &&
           wait_for_standby(bench, measure->waits, measure->link_ms, error);
}

bool bench_start_standby(struct bench *bench, struct error *error)
{
    char output[400], from[700];
    const char *const argv[] = {"sh", "-c", bench->options->standby, NULL};
    const char *const environment[] = {from, NULL};
    const struct process_capture capture = {.environment = environment,
                                            .output = output,
                                            .size = sizeof output,
                                            .limit_ms = STANDBY_MS};
    const char *database = bench->harness.options->database;
    bench_say(bench, "starting a standby");
    if (!way_before_postgres(&bench->link, &database, 0, error))
        return false;
    snprintf(from, sizeof from, "SECKILL_STANDBY_FROM=%s", database);
    return process_capture(argv, &capture, error) ||
           error_prefix(error, "--standby: %.300s", output);
}

bool bench_use_instances(struct bench *bench, int count, struct error *error)
{
    if (bench->instances == count)
        return true;
    if (!stop_instances(bench, error))
        return false;
    if (!harness_open_fleet(&bench->harness, count, error))
        return false;
    bench->instances = count;
    return true;
}

static int64_t products_of(const struct bench_measure *measure)
{
    return measure->products ? measure->products : 1;
}

static int64_t reserve_products(struct bench *bench, int64_t count)
{
    bench->next_product += count;
    return bench->next_product - count;
}

bool bench_new_products(struct bench *bench, int64_t count, int64_t *first, struct error *error)
{
    const struct fleet *fleet = &bench->harness.fleet;
    *first = reserve_products(bench, count);
    return api_put_products(
               fleet->api, fleet->urls[0],
               &(struct api_sale){.first = *first, .count = count, .stock = HARNESS_STOCK},
               error) &&
           phase_wait_clean(fleet, *first, *first + count - 1, error);
}

bool bench_plan(struct bench *bench, const struct bench_measure *measure, struct phase_plan *plan)
{
    struct bench_series *series = bench_series_of(bench, measure);
    *plan = harness_plan(&bench->harness, harness_strategy(&bench->harness, measure->strategy),
                         bench->round);
    plan->load.products = products_of(measure);
    plan->load.first_product = reserve_products(bench, plan->load.products);
    if (measure->sold_out) {
        plan->scenario = SCENARIO_SOLDOUT;
        plan->kind = PHASE_LOAD;
        plan->stock = 0;
    }
    plan->flush = measure->flush;
    bench_shape(bench, measure, &plan->load.connections, &plan->load.threads);
    if (plan->strategy && plan->strategy->available)
        return true;
    char why[400];
    snprintf(why, sizeof why, "%s is not available: %.200s", measure->strategy,
             plan->strategy ? plan->strategy->unavailable_reason : "the server has none");
    bench_leave_out(series, why);
    return false;
}

bool bench_allow(struct bench_series *series, int count)
{
    struct error ignored;
    if (client_allow(count + SPARE_DESCRIPTORS, &ignored))
        return true;
    bench_leave_out(series, "too few file descriptors are allowed (ulimit -n)");
    return false;
}
