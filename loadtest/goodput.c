/* See goodput.h. */
#include "loadtest/goodput.h"

/* Runs the phase; false unless its figures can be believed. */
static bool run_believed(const struct fleet *fleet, const struct phase_plan *plan,
                         struct phase_result *result, struct problem *problem)
{
    if (!phase_run(fleet, plan, result, problem))
        return false;
    return result->verdict == VERDICT_KEPT ||
           problem_set(problem, "%s: %s %s", plan->strategy->name, verdict_name(result->verdict),
                       result->error);
}

/* Only what the generator saw committed before the schedule's end. Twice as long as the peak: at
 * twice the peak the first seconds do no more than fill the queues. */
static bool overload(const struct fleet *fleet, const struct phase_plan *plan, double rate_per_s,
                     int64_t connections, double *committed_per_s, struct problem *problem)
{
    struct phase_result result;
    struct phase_plan offered = *plan;
    offered.duration_s *= 2;
    offered.threads = 1;
    offered.connections = connections;
    offered.rate_per_s = rate_per_s > 1 ? (int64_t)rate_per_s : 1;
    offered.arrivals = ARRIVALS_POISSON;
    offered.first_product += plan->products;
    if (!run_believed(fleet, &offered, &result, problem))
        return problem_prefix(problem, "offered %.0f orders/s", rate_per_s);
    *committed_per_s = (double)result.open.committed_in_time / (double)offered.duration_s;
    return true;
}

bool goodput_measure(const struct fleet *fleet, const struct phase_plan *plan, int times,
                     int64_t overload_connections, struct goodput *out, struct problem *problem)
{
    struct phase_result peak;
    if (!run_believed(fleet, plan, &peak, problem))
        return problem_prefix(problem, "the peak");
    *out = (struct goodput){.peak_per_s = phase_committed_per_s(&peak),
                            .limit = usage_limit(&peak.wrk.usage)};
    return overload(fleet, plan, times * out->peak_per_s, overload_connections,
                    &out->overloaded_per_s, problem);
}
