/* See nemesis.h. */
#include "loadtest/faults/nemesis.h"

#include "base/clock.h"

#include <string.h>

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

static bool make(struct nemesis *nemesis, const struct fault_event *event)
{
    struct fault_interval *interval = &nemesis->intervals[nemesis->count];
    struct error second;
    interval->begin_us = clock_mono_us();
    if (!nemesis->fault->begin(nemesis->site, event, &nemesis->error))
        return false;
    bool goes_on = wait_until(nemesis, nemesis->start_us + event->heal_us);
    interval->heal_us = clock_mono_us();
    nemesis->count++;
    return nemesis->fault->heal(nemesis->site, event, goes_on ? &nemesis->error : &second);
}

static void *work(void *context)
{
    struct nemesis *nemesis = context;
    for (size_t i = 0; i < nemesis->plan->count && !nemesis->failed; i++) {
        const struct fault_event *event = &nemesis->plan->events[i];
        if (!wait_until(nemesis, nemesis->start_us + event->begin_us))
            break;
        nemesis->failed = !make(nemesis, event);
    }
    return NULL;
}

bool nemesis_start(struct nemesis *nemesis, struct error *error)
{
    atomic_init(&nemesis->stopping, false);
    nemesis->count = 0;
    nemesis->failed = false;
    return pthread_create(&nemesis->thread, NULL, work, nemesis) == 0 ||
           error_fail(error, "no thread for the faults");
}

bool nemesis_join(struct nemesis *nemesis, bool stop, struct error *error)
{
    if (stop)
        atomic_store(&nemesis->stopping, true);
    pthread_join(nemesis->thread, NULL);
    if (nemesis->failed)
        *error = nemesis->error;
    return !nemesis->failed;
}
