/* See phase_open.h. */
#include "loadtest/phase/phase_open.h"

#include <stdio.h>

/* From the PUT until the schedule begins: time for the connections to stand. */
static const int64_t LEAD_US = 1000000;
static const int64_t LEAD_PER_CONNECTION_US = 500;

void phase_open_schedule(const struct phase_plan *plan, int64_t duration_us,
                         struct arrivals_plan *out)
{
    double rate = (double)plan->rate_per_s;
    *out = (struct arrivals_plan){
        .kind = plan->arrivals, .seed = plan->seed, .lead_us = plan->lead_s * 1000000};
    if (out->lead_us > 0)
        out->parts[out->parts_count++] = (struct arrivals_part){"lead", rate, out->lead_us};
    out->parts[out->parts_count++] = (struct arrivals_part){"steady", rate, duration_us};
    if (plan->scenario != SCENARIO_BELL)
        return;
    int64_t idle_us = duration_us / 5;
    int64_t bell_us = duration_us * 3 / 10;
    out->parts[0] = (struct arrivals_part){"idle", rate, idle_us};
    out->parts[1] = (struct arrivals_part){"bell", rate * (double)plan->surge, bell_us};
    out->parts[2] = (struct arrivals_part){"tail", rate, duration_us - idle_us - bell_us};
    out->parts_count = 3;
}

/* A new sale that opens `after_us` from now, by PostgreSQL's clock. */
static bool announce(const struct fleet *fleet, const struct phase_plan *plan, int64_t after_us,
                     struct error *error)
{
    char opens_at[64];
    return witness_time(fleet->witness, after_us, opens_at, sizeof opens_at, error) &&
           api_put_opening(fleet->api, fleet->urls[0], plan->first_product, plan->stock, opens_at,
                           error);
}

bool phase_open_load(const struct fleet *fleet, const struct wrk_load *load,
                     struct phase_result *result, struct wrk_result *figures, struct error *error)
{
    const struct phase_plan *plan = &result->plan;
    struct open_loop_load open = {
        .targets = load->targets,
        .targets_count = load->targets_count,
        .path = load->path,
        .token = load->token,
        .restock = load->restock,
        .connections = load->connections,
        .first_user = load->first_user,
        .first_product = load->first_product,
        .products = load->products,
        .lag_limit_us = plan->max_lag_ms * 1000,
        .tick = load->tick,
        .context = load->context,
    };
    phase_open_schedule(plan, load->duration_s * 1000000, &open.arrivals);
    if (plan->scenario == SCENARIO_BELL) {
        int64_t lead_us = LEAD_US + load->connections * LEAD_PER_CONNECTION_US;
        open.start_us = clock_mono_us() + lead_us;
        if (!announce(fleet, plan, lead_us + open.arrivals.parts[0].duration_us, error))
            return false;
    }
    struct open_loop_result before = result->open;
    if (!open_loop_run(&open, &result->open, error))
        return false;
    *figures = (struct wrk_result){
        .duration_us = result->open.duration_us,
        .requests = result->open.answers,
        .not_2xx = result->open.not_2xx,
        .p50_us = result->open.all.p50_us,
        .p90_us = result->open.all.p90_us,
        .p99_us = result->open.all.p99_us,
        .max_us = result->open.all.max_us,
    };
    /* Of a phase of several runs the last one's figures stay, and what counts for all of them. */
    result->open.unanswered += before.unanswered;
    if (before.too_late) {
        result->open.too_late = true;
        result->open.lag = before.lag;
    }
    return true;
}

bool phase_open_in_time(const struct phase_result *result, struct error *error)
{
    const struct open_loop_result *open = &result->open;
    return !open->too_late ||
           error_fail(error,
                      "the generator could not keep up: it took up one arrival in a hundred %.1f "
                      "ms or more after its time (--max-lag-ms %lld); ask for less, or give it a "
                      "machine of its own",
                      (double)open->lag.p99_us / 1000, (long long)result->plan.max_lag_ms);
}
