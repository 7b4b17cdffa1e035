/*
 * More of a load than its figures: every latency, in a histogram, and of a schedule what happened
 * when. It is what curves are drawn from; whoever wants it gives a load one to fill.
 *
 * The timeline has slices of equal width from the schedule's beginning, a hundred at the most, and
 * some behind its end for what was answered then. Offered counts in the slice in which an order was
 * due, and so does its latency; an answer counts when it came.
 */
#ifndef SECKILL_LOADTEST_LOAD_DETAIL_H
#define SECKILL_LOADTEST_LOAD_DETAIL_H

#include "loadtest/load/load.h"

enum { TIMELINE_SLICES = 100, TIMELINE_ROOM = TIMELINE_SLICES + TIMELINE_SLICES / 5 };

struct timeline_slice {
    int64_t offered, answered[LOAD_CLASSES];
    int64_t p50_us[LOAD_CLASSES], p99_us[LOAD_CLASSES]; /* 0: none was due here */
};

struct timeline {
    int64_t slice_us;
    size_t count; /* 0: there was no schedule */
    struct timeline_slice slices[TIMELINE_ROOM];
};

/* Begins as zeros. */
struct load_detail {
    struct latency answers; /* wrk's, which does not tell them apart */
    struct latency parts[ARRIVALS_PARTS_MAX][LOAD_CLASSES]; /* a schedule's */
    struct timeline timeline;
};

/* A timeline while it is filled. Times are CLOCK_MONOTONIC. */
struct timeline_recorder;

/* NULL: out of memory. */
struct timeline_recorder *timeline_recorder_create(int64_t began_us, int64_t duration_us);
void timeline_recorder_destroy(struct timeline_recorder *recorder);

/* A recorder of NULL records nothing. */
void timeline_offered(struct timeline_recorder *recorder, int64_t due_us);
void timeline_answered(struct timeline_recorder *recorder, enum load_class class, int64_t due_us,
                       int64_t answered_us);
void timeline_read(const struct timeline_recorder *recorder, struct timeline *out);

#endif
