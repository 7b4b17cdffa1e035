/* What counting and rendering share. */
#ifndef SECKILL_METRICS_METRICS_INTERNAL_H
#define SECKILL_METRICS_METRICS_INTERNAL_H

#include "metrics/metrics.h"

#include <pthread.h>

/* Ends of the buckets, in microseconds; one more is without an end. */
enum { METRICS_BUCKETS = 19 };
extern const int64_t metrics_bucket_ends_us[METRICS_BUCKETS - 1];

struct metrics_series {
    char *family; /* owned */
    char *help;   /* owned */
    char *labels; /* owned */
    int group;
    enum metrics_unit unit;
    enum metrics_kind kind;
    int64_t (*read)(void *context); /* readings alone */
    void *context;                  /* borrowed: the caller */
};

struct metrics_list {
    struct metrics_series *series; /* owned */
    int count;
    int max;
};

struct metrics {
    /* Written at start, before any other thread runs. */
    struct metrics_list counters;
    struct metrics_list histograms;
    struct metrics_list readings;
    int groups;
    uint64_t number;              /* no other instance of this process has it, or had */
    struct shard *_Atomic shards; /* owned, and what follows it */
    pthread_mutex_t handover;
    pthread_key_t mine; /* a thread's own shard */
};

struct metrics_distribution {
    uint64_t buckets[METRICS_BUCKETS]; /* each alone */
    uint64_t sum_us;
};
/* The sum over all threads. */
void metrics_read_histogram(const struct metrics *metrics, int histogram,
                            struct metrics_distribution *out);

#endif
