/* See plan.h. */
#include "loadtest/faults/plan.h"

#include "base/clock.h"
#include "loadtest/base/random.h"

enum { WARM_UP_MS = 500 };

/* From `least` to `most`, in microseconds; both are milliseconds. */
static int64_t between_us(struct random *random, int64_t least_ms, int64_t most_ms)
{
    return least_ms * CLOCK_US_PER_MS +
           random_pick(random, (most_ms - least_ms) * CLOCK_US_PER_MS + 1);
}

void fault_plan_make(struct fault_plan *out, const struct fault_settings *settings,
                     size_t instances, int64_t seed)
{
    struct random random = random_begin(seed, 0);
    int64_t at_us = WARM_UP_MS * CLOCK_US_PER_MS;
    *out = (struct fault_plan){.count = (size_t)settings->events};
    for (size_t i = 0; i < out->count; i++) {
        struct fault_event *event = &out->events[i];
        at_us += between_us(&random, settings->gap_ms, 2 * settings->gap_ms);
        event->begin_us = at_us;
        at_us += between_us(&random, settings->shortest_ms, settings->longest_ms);
        event->heal_us = at_us;
        event->victim = (size_t)random_pick(&random, (int64_t)instances);
    }
    out->duration_us = at_us + settings->rest_ms * CLOCK_US_PER_MS;
}
