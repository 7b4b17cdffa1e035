/* See goodput.h. */
#include "bench/take/goodput.h"

#include "bench/take/take.h"

#include <stdio.h>

/* Runs the phase; false unless its figures can be believed. */
static bool run_believed(const struct fleet *fleet, const struct phase_plan *plan,
                         struct phase_result *result, struct error *error)
{
    if (!phase_run(fleet, plan, result, error))
        return false;
    return result->verdict == VERDICT_KEPT ||
           error_fail(error, "%s: %s %s", plan->strategy->name, verdict_name(result->verdict),
                      result->error);
}

/* At twice the peak the first seconds do no more than fill the queues; and each of so many
 * connections, and each order that waits, is the first in its memory, which a machine that is
 * somebody's guest may have to get from its host, page by page. That is the beginning of an
 * overload: it is offered, and not counted. */
struct phase_plan goodput_overload(const struct phase_plan *plan, double rate_per_s,
                                   int64_t connections)
{
    struct phase_plan offered = *plan;
    offered.load.duration_s *= 2;
    offered.lead_s = plan->load.duration_s;
    offered.load.threads = 1;
    offered.load.connections = connections;
    offered.rate_per_s = rate_per_s > 1 ? (int64_t)rate_per_s : 1;
    offered.load.arrivals.kind = ARRIVALS_POISSON;
    return offered;
}

/* Only what the generator saw committed before the schedule's end. */
static bool overload(const struct fleet *fleet, const struct phase_plan *offered,
                     struct goodput *out, struct error *error)
{
    struct phase_result result;
    if (!run_believed(fleet, offered, &result, error)) {
        out->late = result.late;
        return error_prefix(error, "offered %lld orders/s", (long long)offered->rate_per_s);
    }
    out->overloaded_per_s +=
        (double)result.load.committed_in_time / (double)(offered->load.duration_s * GOODPUT_CYCLES);
    return true;
}

static bool take_peak(const struct fleet *fleet, const struct phase_plan *plan,
                      double *committed_per_s, enum usage_limit *limit, struct error *error)
{
    struct phase_result result;
    if (!run_believed(fleet, plan, &result, error))
        return error_prefix(error, "the peak");
    *committed_per_s = phase_committed_per_s(&result);
    *limit = usage_limit(&result.load.usage);
    return true;
}

bool goodput_measure(const struct fleet *fleet, const struct phase_plan *plan, int times,
                     int64_t overload_connections, struct goodput *out, struct error *error)
{
    struct phase_plan next = *plan;
    double peak_per_s = 0;
    *out = (struct goodput){0};
    for (int cycle = 0;; cycle++) {
        if (!take_peak(fleet, &next, &peak_per_s, &out->limit, error))
            return false;
        next.load.first_product += plan->load.products;
        out->peak_per_s += peak_per_s / (GOODPUT_CYCLES + 1);
        if (cycle == GOODPUT_CYCLES)
            return true;
        struct phase_plan offered =
            goodput_overload(&next, times * peak_per_s, overload_connections);
        if (!overload(fleet, &offered, out, error))
            return false;
        next.load.first_product += plan->load.products;
    }
}

/* Nothing can be measured any more, whatever the measurement. */
static bool is_over(const struct fleet *fleet, struct error *error)
{
    return process_interrupted() || !instance_all_alive(fleet->instances, fleet->count, error);
}

bool bench_take_overload(struct bench *bench, const struct bench_measure *measure,
                         struct bench_sample *sample, struct error *error)
{
    struct bench_series *series = bench_series_of(bench, measure);
    const struct fleet *fleet = &bench->harness.fleet;
    struct phase_plan plan;
    struct goodput goodput;
    if (!bench_allow(series, GOODPUT_CONNECTIONS))
        return true;
    if (!bench_use_instances(bench, 1, error))
        return false;
    if (!bench_plan(bench, measure, &plan))
        return true;
    bench->next_product += (GOODPUT_PHASES - 1) * plan.load.products;
    if (!goodput_measure(fleet, &plan, measure->times, GOODPUT_CONNECTIONS, &goodput, error)) {
        snprintf(series->why, sizeof series->why, "%s", error->text);
        sample->late = goodput.late;
        return !is_over(fleet, error);
    }
    sample->figures[FIGURE_RATE] = goodput.peak_per_s;
    sample->figures[FIGURE_OVERLOADED] = goodput.overloaded_per_s;
    sample->limit = goodput.limit;
    return true;
}
