/* See plan.h. The numbers are SplitMix64's (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, 2014): a C library's own differ from one to the next. */
#include "loadtest/faults/plan.h"

#include "base/clock.h"

#include <stdio.h>

enum { WARM_UP_MS = 500 };

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* From `least` to `most`, in microseconds; both are milliseconds. */
static int64_t between_us(uint64_t *state, int64_t least_ms, int64_t most_ms)
{
    uint64_t span = (uint64_t)(most_ms - least_ms) * CLOCK_US_PER_MS + 1;
    return least_ms * CLOCK_US_PER_MS + (int64_t)(next(state) % span);
}

void fault_plan_make(struct fault_plan *out, const struct fault_settings *settings,
                     size_t instances, int64_t seed)
{
    uint64_t state = (uint64_t)seed;
    int64_t at_us = WARM_UP_MS * CLOCK_US_PER_MS;
    *out = (struct fault_plan){.count = (size_t)settings->events};
    for (size_t i = 0; i < out->count; i++) {
        struct fault_event *event = &out->events[i];
        at_us += between_us(&state, settings->gap_ms, 2 * settings->gap_ms);
        event->begin_us = at_us;
        at_us += between_us(&state, settings->shortest_ms, settings->longest_ms);
        event->heal_us = at_us;
        event->victim = (size_t)(next(&state) % instances);
    }
    out->duration_us = at_us + settings->rest_ms * CLOCK_US_PER_MS;
}

void fault_plan_say(const struct fault_plan *plan, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (size_t i = 0; i < plan->count && used < size; i++) {
        const struct fault_event *event = &plan->events[i];
        used += (size_t)snprintf(out + used, size - used, "%sinstance %zu at %.2f s for %.0f ms",
                                 i ? ", " : "", event->victim + 1, (double)event->begin_us / 1e6,
                                 (double)(event->heal_us - event->begin_us) / 1e3);
    }
}
