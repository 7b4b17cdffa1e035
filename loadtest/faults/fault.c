/* See fault.h: the list of columns, and when one is made. */
#include "loadtest/faults/fault.h"

#include "base/clock.h"
#include "base/options/nearest.h"
#include "loadtest/base/random.h"

#include <string.h>

static const struct fault *const faults[] = {
    &fault_calm,     &fault_stall,  &fault_forget, &fault_freeze, &fault_kill,
    &fault_database, &fault_commit, &fault_reply,  &fault_hold,   &fault_reset};

size_t fault_count(void)
{
    return sizeof faults / sizeof faults[0];
}

const struct fault *fault_at(size_t index)
{
    return faults[index];
}

const struct fault *fault_find(const char *name, struct error *error)
{
    struct nearest nearest = nearest_to(name, strlen(name));
    char meant[NEAREST_TEXT_SIZE];
    for (size_t i = 0; i < fault_count(); i++) {
        if (strcmp(faults[i]->name, name) == 0)
            return faults[i];
        nearest_offer(&nearest, faults[i]->name);
    }
    error_fail(error, "there is no fault '%s'%s", name, nearest_text(&nearest, "", meant));
    return NULL;
}

bool fault_has_control(const struct fault *fault, const char *strategy)
{
    for (const char *const *control = fault->controls; *control; control++) {
        if (strcmp(*control, strategy) == 0)
            return true;
    }
    return fault->own && strcmp(fault->own->name, strategy) == 0;
}

const struct fault_control *fault_find_control(const char *name)
{
    for (size_t i = 0; i < fault_count(); i++) {
        if (faults[i]->own && strcmp(faults[i]->own->name, name) == 0)
            return faults[i]->own;
    }
    return NULL;
}

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
