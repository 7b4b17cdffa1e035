/*
 * How a figure is made. Every kind of load here lasts --duration, and each begins with products
 * that were never sold, so that nobody's rows are being deleted while time is taken.
 *
 * What fails for one measurement alone (its books do not agree, it sold what it should not) is
 * written into its series, and the others go on. A server that died ends everything.
 */
#include "bench/take/take.h"
#include "bench/tools/pgbench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TRIAL_MAX_S = 2, WHY_MAX = 600 };

static void take_latencies(const struct load_result *wrk, struct bench_sample *sample)
{
    sample->figures[FIGURE_P50_MS] = (double)wrk->p50_us / 1000;
    sample->figures[FIGURE_P99_MS] = (double)wrk->p99_us / 1000;
    double per_s = (double)wrk->requests * 1e6 / (double)wrk->duration_us;
    if (wrk->requests > 0)
        sample->figures[FIGURE_CPU_US] = wrk->usage.server_cpu * 1e6 / per_s;
    sample->limit = usage_limit(&wrk->usage);
}

/* Answers at once, from a server that sells nothing: there are no books to compare. */
bool bench_take_answers(struct bench *bench, const struct bench_measure *measure,
                        struct bench_sample *sample, struct error *error)
{
    bool nginx = measure->kind == BENCH_NGINX;
    const char *url = nginx ? bench->nginx.url : bench->ceiling.url;
    pid_t server = nginx ? bench->nginx.process.pid : bench->ceiling.process.pid;
    struct bench_series *series = bench_series_of(bench, measure);
    int64_t first = bench->harness.options->first_product;
    struct load load = {
        .targets = &url,
        .targets_count = 1,
        .path = "/orders?strategy=bench-answer",
        .token = "",
        .duration_s = bench->harness.options->duration_s,
        .first_user = INT64_C(1000000000000),
        .users_per_thread = INT64_C(1000000000),
        .first_product = first,
        .products = 1,
        .servers = {server},
        .servers_count = 1,
    };
    struct load_result wrk;
    bench_shape(bench, measure, &load.connections, &load.threads);
    if (!wrk_run(&load, &wrk, error))
        return false;
    int64_t errors = wrk.connect_errors + wrk.read_errors + wrk.write_errors + wrk.timeouts;
    if (wrk.not_2xx > 0 || errors > 0)
        snprintf(series->why, sizeof series->why,
                 "%" PRId64 " answers were none of 2xx, and %" PRId64 " were missing", wrk.not_2xx,
                 errors);
    sample->figures[FIGURE_RATE] = (double)wrk.requests * 1e6 / (double)wrk.duration_us;
    take_latencies(&wrk, sample);
    return true;
}

static void take_phase(const struct phase_result *result, bool sold_out,
                       struct bench_sample *sample)
{
    int64_t answers = sold_out ? result->load.not_2xx - result->counts.failed
                               : result->load.requests - result->load.not_2xx;
    sample->figures[FIGURE_RATE] = phase_per_s(result, answers);
    sample->figures[FIGURE_COMMITTED] = phase_committed_per_s(result);
    take_latencies(&result->load, sample);
}

bool bench_take_http(struct bench *bench, const struct bench_measure *measure,
                     struct bench_sample *sample, struct error *error)
{
    struct bench_series *series = bench_series_of(bench, measure);
    struct phase_plan plan;
    struct phase_result result;
    if (!bench_use_instances(bench, measure->instances ? measure->instances : 1, error))
        return false;
    if (!bench_plan(bench, measure, &plan))
        return true;
    if (!phase_run(&bench->harness.fleet, &plan, &result, error))
        return false;
    if (result.verdict != VERDICT_KEPT)
        snprintf(series->why, sizeof series->why, "%s: %s", verdict_name(result.verdict),
                 *result.error ? result.error : "see the server's log");
    take_phase(&result, measure->sold_out, sample);
    return true;
}

/* `why` says what pgbench had against it, and the figure is 0. */
static bool take_clients(struct bench *bench, const struct bench_measure *measure, int clients,
                         int64_t seconds, double *orders_per_s, struct error *why,
                         struct error *error)
{
    int64_t products = measure->products ? measure->products : 1;
    char text[100];
    snprintf(text, sizeof text, "%s, %d clients", measure->name, clients);
    bench_say(bench, text);
    struct pgbench_load load = {
        .program = bench->pgbench,
        .conninfo = bench->harness.options->database,
        .strategy = measure->strategy,
        .folder = bench->harness.folder,
        .products = products,
        .clients = clients,
        .duration_s = seconds,
    };
    *orders_per_s = 0;
    why->text[0] = '\0';
    if (!bench_use_instances(bench, 1, error) ||
        !bench_new_products(bench, products, &load.first_product, error))
        return false;
    if (!pgbench_run(&load, bench->harness.witness, orders_per_s, why))
        *orders_per_s = 0;
    return !process_interrupted() || error_fail(error, "interrupted");
}

bool bench_take_pgbench(struct bench *bench, const struct bench_measure *measure,
                        struct bench_sample *sample, struct error *error)
{
    struct bench_series *series = bench_series_of(bench, measure);
    struct error why;
    bool made = take_clients(bench, measure, series->clients, bench->harness.options->duration_s,
                             &sample->figures[FIGURE_RATE], &why, error);
    if (made)
        snprintf(series->why, sizeof series->why, "%.*s", WHY_MAX, why.text);
    return made;
}

/* In the full form twice, the better figure of each: one disturbed trial must not choose. */
bool bench_try_clients(struct bench *bench, const struct bench_measure *measure,
                       struct error *error)
{
    struct bench_series *series = bench_series_of(bench, measure);
    const int *counts = bench_client_counts[measure->products > 1];
    const struct options *options = bench->harness.options;
    int64_t most = bench->options->full ? TRIAL_MAX_S : 1;
    int64_t seconds = options->duration_s < most ? options->duration_s : most;
    size_t tries = (size_t)BENCH_CLIENT_COUNTS * (bench->options->full ? 2 : 1);
    for (size_t i = 0; i < tries; i++) {
        size_t which = i % BENCH_CLIENT_COUNTS;
        double figure = 0;
        struct error why; /* the best of the others stands */
        if (!take_clients(bench, measure, counts[which], seconds, &figure, &why, error))
            return false;
        if (figure > series->trial[which])
            series->trial[which] = figure;
    }
    size_t best = 0;
    for (size_t i = 1; i < BENCH_CLIENT_COUNTS; i++)
        best = series->trial[i] > series->trial[best] ? i : best;
    series->clients = counts[best];
    return true;
}
