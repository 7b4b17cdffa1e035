/*
 * A shard is what one thread counts in. Its owner alone writes it, so an add is a relaxed load and
 * a relaxed store; readers only ever see a number that was true a moment ago. Shards stand in a
 * list that grows and never shrinks. When a thread ends its shard goes, with everything counted in
 * it, to the next thread that needs one (the mutex of that handover orders the two owners' writes).
 *
 * A histogram's buckets are allocated in a shard when its thread first observes into it: most
 * threads serve one strategy and touch few of the series.
 */
#include "metrics/metrics_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const int64_t metrics_bucket_ends_us[METRICS_BUCKETS - 1] = {
    100,    250,    500,    1000,    2500,    5000,    10000,    25000,    50000,
    100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000, 60000000,
};

struct histogram {
    _Atomic uint64_t buckets[METRICS_BUCKETS];
    _Atomic uint64_t sum_us;
};

struct shard {
    struct metrics *metrics; /* borrowed: whose it is */
    struct shard *next;      /* the list of all; never changes once it is in it */
    bool used;               /* some thread's; guarded by handover */
    _Atomic uint64_t counters[METRICS_MAX_COUNTERS];
    struct histogram *_Atomic histograms[METRICS_MAX_HISTOGRAMS]; /* owned; NULL until observed */
};

/* The shard that this thread has counted in last, and the number of its instance: a thread mostly
 * counts in one. */
static _Thread_local struct {
    uint64_t number;
    struct shard *shard; /* borrowed */
} last;

/* A process that has no memory left for a few kilobytes of counts would go on with wrong ones. */
static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static struct metrics_list make_list(int max)
{
    return (struct metrics_list){.series = must(calloc((size_t)max, sizeof(struct metrics_series))),
                                 .max = max};
}

static void leave_shard(void *left)
{
    struct shard *shard = left;

    pthread_mutex_lock(&shard->metrics->handover);
    shard->used = false;
    pthread_mutex_unlock(&shard->metrics->handover);
    last.number = 0; /* another destructor of this thread may still count */
}

struct metrics *metrics_create(void)
{
    static _Atomic uint64_t numbers;
    struct metrics *metrics = must(calloc(1, sizeof *metrics));

    metrics->number = atomic_fetch_add(&numbers, 1) + 1;
    metrics->counters = make_list(METRICS_MAX_COUNTERS);
    metrics->histograms = make_list(METRICS_MAX_HISTOGRAMS);
    metrics->readings = make_list(METRICS_MAX_READINGS);
    pthread_mutex_init(&metrics->handover, NULL);
    if (pthread_key_create(&metrics->mine, leave_shard) != 0)
        abort();
    return metrics;
}

void metrics_leave(struct metrics *metrics)
{
    struct shard *shard = pthread_getspecific(metrics->mine);

    if (shard == NULL)
        return;
    pthread_setspecific(metrics->mine, NULL);
    leave_shard(shard);
}

/* The last of its list. */
static struct metrics_series *add_series(struct metrics_list *list, int group, const char *family,
                                         const char *help, const char *labels)
{
    if (list->count == list->max)
        abort();
    struct metrics_series *series = &list->series[list->count++];
    *series = (struct metrics_series){
        .family = must(strdup(family)),
        .help = must(strdup(help)),
        .labels = must(strdup(labels)),
        .group = group,
    };
    return series;
}

int metrics_group(struct metrics *metrics)
{
    if (metrics->groups == METRICS_MAX_GROUPS - 1)
        abort();
    return ++metrics->groups;
}

struct metric metrics_counter_of(struct metrics *metrics, enum metrics_unit unit, int group,
                                 const char *family, const char *help, const char *labels)
{
    add_series(&metrics->counters, group, family, help, labels)->unit = unit;
    return (struct metric){metrics, metrics->counters.count - 1};
}

struct metric metrics_counter(struct metrics *metrics, int group, const char *family,
                              const char *help, const char *labels)
{
    return metrics_counter_of(metrics, METRICS_NUMBER, group, family, help, labels);
}

struct metric metrics_histogram(struct metrics *metrics, int group, const char *family,
                                const char *help, const char *labels)
{
    add_series(&metrics->histograms, group, family, help, labels);
    return (struct metric){metrics, metrics->histograms.count - 1};
}

void metrics_gauge(struct metrics *metrics, int group, const char *family, const char *help,
                   const char *labels, int64_t (*read)(void *context), void *context)
{
    struct metrics_series *series = add_series(&metrics->readings, group, family, help, labels);

    series->read = read;
    series->context = context;
}

void metrics_reading(struct metrics *metrics, enum metrics_kind kind, enum metrics_unit unit,
                     const char *family, const char *help, int64_t (*read)(void *context),
                     void *context)
{
    struct metrics_series *series =
        add_series(&metrics->readings, METRICS_ALWAYS, family, help, "");

    series->kind = kind;
    series->unit = unit;
    series->read = read;
    series->context = context;
}

static struct shard *take_shard(struct metrics *metrics)
{
    pthread_mutex_lock(&metrics->handover);
    struct shard *first = atomic_load_explicit(&metrics->shards, memory_order_relaxed);
    struct shard *shard = first;
    while (shard != NULL && shard->used)
        shard = shard->next;
    if (shard == NULL) {
        shard = must(calloc(1, sizeof *shard));
        shard->metrics = metrics;
        shard->next = first;
        atomic_store_explicit(&metrics->shards, shard, memory_order_release);
    }
    shard->used = true;
    pthread_mutex_unlock(&metrics->handover);

    if (pthread_setspecific(metrics->mine, shard) != 0)
        abort();
    return shard;
}

static struct shard *find_shard(struct metrics *metrics)
{
    struct shard *shard = pthread_getspecific(metrics->mine);

    last.shard = shard != NULL ? shard : take_shard(metrics);
    last.number = metrics->number;
    return last.shard;
}

static struct shard *shard_of(struct metric metric)
{
    return last.number == metric.of->number ? last.shard : find_shard(metric.of);
}

static void bump(_Atomic uint64_t *count, uint64_t n)
{
    uint64_t now = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, now + n, memory_order_relaxed);
}

void metrics_add(struct metric counter, uint64_t n)
{
    bump(&shard_of(counter)->counters[counter.id], n);
}

void metrics_observe(struct metric histogram, int64_t us)
{
    struct shard *shard = shard_of(histogram);
    struct histogram *own =
        atomic_load_explicit(&shard->histograms[histogram.id], memory_order_relaxed);
    if (own == NULL) {
        own = must(calloc(1, sizeof *own));
        atomic_store_explicit(&shard->histograms[histogram.id], own, memory_order_release);
    }
    size_t bucket = 0;
    while (bucket < METRICS_BUCKETS - 1 && us > metrics_bucket_ends_us[bucket])
        bucket++;
    bump(&own->buckets[bucket], 1);
    bump(&own->sum_us, us > 0 ? (uint64_t)us : 0);
}

uint64_t metrics_read(struct metric counter)
{
    uint64_t sum = 0;
    for (const struct shard *shard =
             atomic_load_explicit(&counter.of->shards, memory_order_acquire);
         shard != NULL; shard = shard->next)
        sum += atomic_load_explicit(&shard->counters[counter.id], memory_order_relaxed);
    return sum;
}

int metrics_shards(const struct metrics *metrics)
{
    int count = 0;
    for (const struct shard *shard = atomic_load_explicit(&metrics->shards, memory_order_acquire);
         shard != NULL; shard = shard->next)
        count++;
    return count;
}

void metrics_read_histogram(const struct metrics *metrics, int histogram,
                            struct metrics_distribution *out)
{
    *out = (struct metrics_distribution){.sum_us = 0};
    for (struct shard *shard = atomic_load_explicit(&metrics->shards, memory_order_acquire);
         shard != NULL; shard = shard->next) {
        struct histogram *part =
            atomic_load_explicit(&shard->histograms[histogram], memory_order_acquire);
        if (part == NULL)
            continue;
        for (size_t i = 0; i < METRICS_BUCKETS; i++)
            out->buckets[i] += atomic_load_explicit(&part->buckets[i], memory_order_relaxed);
        out->sum_us += atomic_load_explicit(&part->sum_us, memory_order_relaxed);
    }
}

static void free_list(struct metrics_list *list)
{
    for (int i = 0; i < list->count; i++) {
        free(list->series[i].family);
        free(list->series[i].help);
        free(list->series[i].labels);
    }
    free(list->series);
}

void metrics_destroy(struct metrics *metrics)
{
    if (metrics == NULL)
        return;
    pthread_key_delete(metrics->mine);
    if (last.number == metrics->number)
        last.number = 0;
    struct shard *shard = atomic_load_explicit(&metrics->shards, memory_order_acquire);
    while (shard != NULL) {
        struct shard *next = shard->next;
        for (int i = 0; i < METRICS_MAX_HISTOGRAMS; i++)
            free(atomic_load_explicit(&shard->histograms[i], memory_order_relaxed));
        free(shard);
        shard = next;
    }
    pthread_mutex_destroy(&metrics->handover);
    free_list(&metrics->counters);
    free_list(&metrics->histograms);
    free_list(&metrics->readings);
    free(metrics);
}
