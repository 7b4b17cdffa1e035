/* See phase_open.h. */
#include "loadtest/phase/phase_open.h"

#include "base/clock.h"

/* From the PUT until the schedule begins, at first. */
static const int64_t LEAD_US = 1000000;

void phase_open_plan(const struct phase_plan *plan, int64_t duration_us, struct arrivals_plan *out)
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
    int64_t epoch = 0;
    return witness_time(fleet->witness, after_us, opens_at, sizeof opens_at, error) &&
           api_put_products(fleet->api, fleet_targets(fleet)[0],
                            &(struct api_sale){.first = plan->first_product,
                                               .count = 1,
                                               .stock = plan->stock,
                                               .limit = plan->limit,
                                               .opens_at = opens_at,
                                               .epoch = &epoch},
                            error) &&
           witness_remember(fleet->witness, plan->first_product, plan->first_product, epoch, error);
}

bool phase_open_announce(const struct fleet *fleet, const struct phase_plan *plan, int64_t idle_us,
                         int64_t *start_us, struct error *error)
{
    for (int64_t lead_us = LEAD_US;; lead_us *= 2) {
        *start_us = clock_mono_us() + lead_us;
        if (!announce(fleet, plan, lead_us + idle_us, error))
            return false;
        if (clock_mono_us() < *start_us)
            return true;
    }
}

bool phase_open_in_time(const struct phase_result *result, struct error *error)
{
    return !result->load.too_late ||
           error_fail(error,
                      "the generator could not keep up: it took up one arrival in a hundred %.1f "
                      "ms or more after its time (--max-lag-ms %lld); ask for less, or give it a "
                      "machine of its own",
                      (double)result->load.lag.p99_us / 1000, (long long)result->plan.max_lag_ms);
}
