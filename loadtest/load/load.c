/* See load.h. */
#include "loadtest/load/load.h"

enum { LEAST_SLICE_US = 100000 };

const char *load_class_name(enum load_class class)
{
    static const char *const names[] = {"committed", "accepted", "refused", "failed"};
    return names[class];
}

void load_add(struct load_result *sum, const struct load_result *one)
{
    struct load_result before = *sum;
    const int64_t *from = (const void *)&before;
    int64_t *to = (void *)sum;
    size_t i = 0;
    *sum = *one; /* usage too: where it matters there is one run */
    for (; i < offsetof(struct load_result, p50_us) / sizeof *to; i++)
        to[i] += from[i];
    for (; i < offsetof(struct load_result, sold_out_us) / sizeof *to; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
    if (before.sold_out_us != 0)
        sum->sold_out_us = before.sold_out_us;
    if (before.too_late)
        sum->lag = before.lag;
    sum->too_late = sum->too_late || before.too_late;
}

void timeline_begin(struct timeline *timeline, int64_t began_us, int64_t duration_us)
{
    int64_t slice_us = (duration_us + TIMELINE_SLICES - 1) / TIMELINE_SLICES;
    timeline->began_us = began_us;
    timeline->slice_us = slice_us > LEAST_SLICE_US ? slice_us : LEAST_SLICE_US;
    timeline->count = (size_t)((duration_us + timeline->slice_us - 1) / timeline->slice_us);
    timeline->room = timeline->count + timeline->count / 5;
}

/* NULL: it is not in the timeline. */
static struct timeline_slice *slice_at(struct timeline *timeline, int64_t at_us)
{
    if (timeline->room == 0 || at_us < timeline->began_us)
        return NULL;
    size_t number = (size_t)((at_us - timeline->began_us) / timeline->slice_us);
    return number < timeline->room ? &timeline->slices[number] : NULL;
}

void timeline_offered(struct timeline *timeline, int64_t due_us)
{
    struct timeline_slice *slice = slice_at(timeline, due_us);
    if (slice)
        slice->offered++;
}

void timeline_answered(struct timeline *timeline, enum load_class class, int64_t due_us,
                       int64_t answered_us)
{
    struct timeline_slice *due = slice_at(timeline, due_us);
    struct timeline_slice *answered = slice_at(timeline, answered_us);
    if (due)
        latency_add(&due->latencies[class], answered_us - due_us);
    if (!answered)
        return;
    answered->answered[class]++;
    if (answered >= timeline->slices + timeline->count)
        timeline->count = (size_t)(answered - timeline->slices) + 1;
}
