/*
 * How a phase's sale is opened, and the schedule of its load where that has a rate. The bell
 * scenario's sale opens by PostgreSQL's clock when its schedule comes to the bell.
 */
#include "loadtest/phase/phase.h"

#include "base/clock.h"

/* From the PUT until the schedule begins, at first. */
static const int64_t LEAD_US = 1000000;

void phase_open_plan(const struct phase_plan *plan, int64_t duration_us, struct arrivals_plan *out)
{
    double rate = (double)plan->rate_per_s;
    *out = (struct arrivals_plan){.kind = plan->load.arrivals.kind,
                                  .seed = plan->load.seed,
                                  .lead_us = plan->lead_s * 1000000};
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

bool phase_put_on_sale(const struct fleet *fleet, const struct phase_plan *plan,
                       const char *opens_at, int64_t *epoch, struct error *error)
{
    struct api_sale sale = {.first = plan->load.first_product,
                            .count = fleet->balancer ? 1 : plan->load.products,
                            .stock = plan->stock,
                            .limit = plan->limit,
                            .opens_at = opens_at,
                            .epoch = epoch};
    bool put = true;
    for (; put && sale.first <= phase_last_product(plan); sale.first += sale.count)
        put = api_put_products(fleet->api, fleet_targets(fleet)[0], &sale, error);
    return put;
}

/* A new sale that opens `after_us` from now, by PostgreSQL's clock. */
static bool announce(const struct fleet *fleet, const struct phase_plan *plan, int64_t after_us,
                     struct error *error)
{
    char opens_at[64];
    int64_t epoch = 0;
    return witness_time(fleet->witness, after_us, opens_at, sizeof opens_at, error) &&
           phase_put_on_sale(fleet, plan, opens_at, &epoch, error) &&
           witness_remember(fleet->witness, plan->load.first_product, phase_last_product(plan),
                            epoch, error);
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
