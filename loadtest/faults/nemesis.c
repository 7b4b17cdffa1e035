/* See nemesis.h. */
#include "loadtest/faults/nemesis.h"

#include "base/clock.h"

enum { LOOK_US = 10000 };

/* False when it is to stop. */
static bool wait_until(struct nemesis *nemesis, int64_t at_us)
{
    for (;;) {
        int64_t now_us = clock_mono_us();
        if (atomic_load(&nemesis->stopping) || process_interrupted())
            return false;
        if (now_us >= at_us)
            return true;
        clock_sleep_until(clock_earlier(at_us, now_us + LOOK_US));
    }
}

static bool make(struct nemesis *nemesis, const struct fault_event *event, struct error *error)
{
    struct fault_interval *interval = &nemesis->intervals[nemesis->count];
    interval->begin_us = clock_mono_us();
    if (!nemesis->fault->begin(nemesis->site, event, error))
        return false;
    (void)wait_until(nemesis, nemesis->start_us + event->heal_us);
    interval->heal_us = clock_mono_us();
    nemesis->count++;
    return nemesis->fault->heal(nemesis->site, event, error);
}

bool nemesis_run(struct nemesis *nemesis, struct error *error)
{
    for (size_t i = 0; i < nemesis->plan->count; i++) {
        const struct fault_event *event = &nemesis->plan->events[i];
        if (!wait_until(nemesis, nemesis->start_us + event->begin_us))
            break;
        if (!make(nemesis, event, error))
            return false;
    }
    return true;
}
