/* See arrivals.h. */
#include "loadtest/load/arrivals.h"

#include <math.h>

int64_t arrivals_duration_us(const struct arrivals_plan *plan)
{
    int64_t sum_us = 0;
    for (size_t i = 0; i < plan->parts_count; i++)
        sum_us += plan->parts[i].duration_us;
    return sum_us;
}

/* What must be offered until the next arrival: one order, or exponentially many with that mean. */
static double gap(struct arrivals *arrivals)
{
    if (arrivals->plan->kind == ARRIVALS_CONSTANT)
        return 1;
    return -log(1 - random_unit(&arrivals->random));
}

void arrivals_init(struct arrivals *arrivals, const struct arrivals_plan *plan)
{
    *arrivals = (struct arrivals){.plan = plan,
                                  .random = random_begin(plan->seed, 1), /* 0: who buys, and what */
                                  .ended = plan->parts_count == 0};
    arrivals_next(arrivals);
}

/* The gap is walked off through the parts, each at its own rate: an arrival that does not fit into
 * what is left of a part takes the rest of its gap into the next. */
void arrivals_next(struct arrivals *arrivals)
{
    double left = gap(arrivals);
    while (!arrivals->ended) {
        const struct arrivals_part *part = &arrivals->plan->parts[arrivals->part];
        double end_us = arrivals->part_began_us + (double)part->duration_us;
        double rate_per_us = part->rate_per_s / 1e6;
        double here = (end_us - arrivals->exact_us) * rate_per_us;
        if (left < here) {
            arrivals->exact_us += left / rate_per_us;
            arrivals->at_us = (int64_t)arrivals->exact_us;
            return;
        }
        left -= here;
        arrivals->exact_us = arrivals->part_began_us = end_us;
        arrivals->part++;
        arrivals->ended = arrivals->part == arrivals->plan->parts_count;
    }
}
