/*
 * What a strategy still commits when it is offered more than it can do: its peak as wrk finds it,
 * and orders that arrive at a multiple of that rate whether it keeps up or not (goodput.h), in
 * turn, so that both see the same machine.
 *
 * Where the generator could not keep its schedule there is no figure, and the series says so: an
 * overload that was never offered would look like one that was borne.
 */
#include "bench/bench.h"

#include "bench/goodput.h"

#include <stdio.h>

/* Nothing can be measured any more, whatever the measurement. */
static bool is_over(const struct fleet *fleet, struct error *error)
{
    return process_interrupted() || !instance_all_alive(fleet->instances, fleet->count, error);
}

bool bench_take_overload(struct bench *bench, const struct bench_measure *measure,
                         struct bench_sample *sample, struct error *error)
{
    struct bench_series *series = bench_series_of(bench, measure);
    const struct fleet *fleet = &bench->session.fleet;
    struct phase_plan plan;
    struct goodput goodput;
    if (!bench_allow_measure(series, GOODPUT_CONNECTIONS))
        return true;
    if (!bench_use_instances(bench, 1, error))
        return false;
    if (!bench_plan(bench, measure, &plan))
        return true;
    bench->next_product += (GOODPUT_PHASES - 1) * plan.products;
    plan.max_lag_ms = bench->session.options->max_lag_ms;
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
