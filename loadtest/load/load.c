/* See load.h. */
#include "loadtest/load/load.h"

#include <stdlib.h>

enum { LEAST_SLICE_US = 100000 };

const char *load_class_name(enum load_class class)
{
    static const char *const names[] = {"committed", "accepted", "refused", "failed"};
    return names[class];
}

static void raise_to(int64_t *most, int64_t one)
{
    if (one > *most)
        *most = one;
}

void load_add(struct load_result *sum, const struct load_result *one)
{
    struct load_result before = *sum;
    *sum = *one; /* usage too: where it matters there is one run */
    sum->duration_us += before.duration_us;
    sum->requests += before.requests;
    sum->not_2xx += before.not_2xx;
    sum->repeats += before.repeats;
    sum->abandoned += before.abandoned;
    raise_to(&sum->p50_us, before.p50_us);
    raise_to(&sum->p90_us, before.p90_us);
    raise_to(&sum->p99_us, before.p99_us);
    raise_to(&sum->max_us, before.max_us);
    sum->connect_errors += before.connect_errors;
    sum->read_errors += before.read_errors;
    sum->write_errors += before.write_errors;
    sum->timeouts += before.timeouts;
    sum->resold += before.resold;
    if (before.sold_out_us != 0)
        sum->sold_out_us = before.sold_out_us;
    if (before.too_late)
        sum->lag = before.lag;
    sum->too_late = sum->too_late || before.too_late;
}

struct slice {
    int64_t offered, answered[LOAD_CLASSES];
    struct latency latencies[LOAD_CLASSES];
};

struct timeline_recorder {
    int64_t began_us, slice_us;
    size_t planned, room; /* slices of the schedule; with those behind it */
    struct slice slices[];
};

struct timeline_recorder *timeline_recorder_create(int64_t began_us, int64_t duration_us)
{
    int64_t slice_us = (duration_us + TIMELINE_SLICES - 1) / TIMELINE_SLICES;
    if (slice_us < LEAST_SLICE_US)
        slice_us = LEAST_SLICE_US;
    size_t planned = (size_t)((duration_us + slice_us - 1) / slice_us);
    size_t room = planned + planned / 5;
    struct timeline_recorder *recorder =
        calloc(1, sizeof *recorder + room * sizeof *recorder->slices);
    if (!recorder)
        return NULL;
    recorder->began_us = began_us;
    recorder->slice_us = slice_us;
    recorder->planned = planned;
    recorder->room = room;
    return recorder;
}

/* NULL: it is not in the timeline. */
static struct slice *slice_at(struct timeline_recorder *recorder, int64_t at_us)
{
    if (!recorder || at_us < recorder->began_us)
        return NULL;
    size_t number = (size_t)((at_us - recorder->began_us) / recorder->slice_us);
    return number < recorder->room ? &recorder->slices[number] : NULL;
}

void timeline_offered(struct timeline_recorder *recorder, int64_t due_us)
{
    struct slice *slice = slice_at(recorder, due_us);
    if (slice)
        slice->offered++;
}

void timeline_answered(struct timeline_recorder *recorder, enum load_class class, int64_t due_us,
                       int64_t answered_us)
{
    struct slice *due = slice_at(recorder, due_us);
    struct slice *answered = slice_at(recorder, answered_us);
    if (due)
        latency_add(&due->latencies[class], answered_us - due_us);
    if (answered)
        answered->answered[class]++;
}

static bool is_empty(const struct slice *slice)
{
    int64_t sum = slice->offered;
    for (int class = 0; class < LOAD_CLASSES; class ++)
        sum += slice->answered[class];
    return sum == 0;
}

void timeline_read(const struct timeline_recorder *recorder, struct timeline *out)
{
    *out = (struct timeline){.slice_us = recorder->slice_us, .count = recorder->room};
    while (out->count > recorder->planned && is_empty(&recorder->slices[out->count - 1]))
        out->count--;
    for (size_t i = 0; i < out->count; i++) {
        const struct slice *from = &recorder->slices[i];
        struct timeline_slice *to = &out->slices[i];
        to->offered = from->offered;
        for (int class = 0; class < LOAD_CLASSES; class ++) {
            to->answered[class] = from->answered[class];
            to->p50_us[class] = latency_quantile_us(&from->latencies[class], 0.5);
            to->p99_us[class] = latency_quantile_us(&from->latencies[class], 0.99);
        }
    }
}
