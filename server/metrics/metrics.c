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
    struct shard *next; /* the list of all; never changes once it is in it */
    bool used;          /* some thread's; guarded by handover */
    _Atomic uint64_t counters[METRICS_MAX_COUNTERS];
    struct histogram *_Atomic histograms[METRICS_MAX_HISTOGRAMS]; /* owned; NULL until observed */
};

static struct metrics_series counter_series[METRICS_MAX_COUNTERS];
static struct metrics_series histogram_series[METRICS_MAX_HISTOGRAMS];
static struct metrics_series reading_series[METRICS_MAX_READINGS];
struct metrics_list metrics_counters = {counter_series, 0, METRICS_MAX_COUNTERS};
struct metrics_list metrics_histograms = {histogram_series, 0, METRICS_MAX_HISTOGRAMS};
struct metrics_list metrics_readings = {reading_series, 0, METRICS_MAX_READINGS};
static int groups;

static struct shard *_Atomic shards; /* owned, and what follows it */
static pthread_mutex_t handover = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local struct shard *mine; /* borrowed: shards */
static pthread_key_t end_of_thread;
static pthread_once_t end_of_thread_once = PTHREAD_ONCE_INIT;

/* A process that has no memory left for a few kilobytes of counts would go on with wrong ones. */
static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
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

int metrics_group(void)
{
    if (groups == METRICS_MAX_GROUPS - 1)
        abort();
    return ++groups;
}

int metrics_counter_of(enum metrics_unit unit, int group, const char *family, const char *help,
                       const char *labels)
{
    add_series(&metrics_counters, group, family, help, labels)->unit = unit;
    return metrics_counters.count - 1;
}

int metrics_counter(int group, const char *family, const char *help, const char *labels)
{
    return metrics_counter_of(METRICS_NUMBER, group, family, help, labels);
}

int metrics_histogram(int group, const char *family, const char *help, const char *labels)
{
    add_series(&metrics_histograms, group, family, help, labels);
    return metrics_histograms.count - 1;
}

void metrics_gauge(int group, const char *family, const char *help, const char *labels,
                   int64_t (*read)(void *context), void *context)
{
    struct metrics_series *series = add_series(&metrics_readings, group, family, help, labels);

    series->read = read;
    series->context = context;
}

void metrics_reading(enum metrics_kind kind, enum metrics_unit unit, const char *family,
                     const char *help, int64_t (*read)(void *context), void *context)
{
    struct metrics_series *series = add_series(&metrics_readings, METRICS_ALWAYS, family, help, "");

    series->kind = kind;
    series->unit = unit;
    series->read = read;
    series->context = context;
}

static void leave_shard(void *shard)
{
    pthread_mutex_lock(&handover);
    ((struct shard *)shard)->used = false;
    pthread_mutex_unlock(&handover);
    mine = NULL; /* another destructor of this thread may still count */
}

static void make_key(void)
{
    if (pthread_key_create(&end_of_thread, leave_shard) != 0)
        abort();
}

static struct shard *take_shard(void)
{
    pthread_once(&end_of_thread_once, make_key);
    pthread_mutex_lock(&handover);
    struct shard *first = atomic_load_explicit(&shards, memory_order_relaxed);
    struct shard *shard = first;
    while (shard != NULL && shard->used)
        shard = shard->next;
    if (shard == NULL) {
        shard = must(calloc(1, sizeof *shard));
        shard->next = first;
        atomic_store_explicit(&shards, shard, memory_order_release);
    }
    shard->used = true;
    pthread_mutex_unlock(&handover);

    if (pthread_setspecific(end_of_thread, shard) != 0)
        abort();
    mine = shard;
    return shard;
}

static void bump(_Atomic uint64_t *count, uint64_t n)
{
    uint64_t now = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, now + n, memory_order_relaxed);
}

void metrics_add(int counter, uint64_t n)
{
    struct shard *shard = mine != NULL ? mine : take_shard();
    bump(&shard->counters[counter], n);
}

void metrics_observe(int histogram, int64_t us)
{
    struct shard *shard = mine != NULL ? mine : take_shard();
    struct histogram *own =
        atomic_load_explicit(&shard->histograms[histogram], memory_order_relaxed);
    if (own == NULL) {
        own = must(calloc(1, sizeof *own));
        atomic_store_explicit(&shard->histograms[histogram], own, memory_order_release);
    }
    size_t bucket = 0;
    while (bucket < METRICS_BUCKETS - 1 && us > metrics_bucket_ends_us[bucket])
        bucket++;
    bump(&own->buckets[bucket], 1);
    bump(&own->sum_us, us > 0 ? (uint64_t)us : 0);
}

uint64_t metrics_read(int counter)
{
    uint64_t sum = 0;
    for (const struct shard *shard = atomic_load_explicit(&shards, memory_order_acquire);
         shard != NULL; shard = shard->next)
        sum += atomic_load_explicit(&shard->counters[counter], memory_order_relaxed);
    return sum;
}

int metrics_shards(void)
{
    int count = 0;
    for (const struct shard *shard = atomic_load_explicit(&shards, memory_order_acquire);
         shard != NULL; shard = shard->next)
        count++;
    return count;
}

void metrics_read_histogram(int histogram, struct metrics_distribution *out)
{
    *out = (struct metrics_distribution){.sum_us = 0};
    for (struct shard *shard = atomic_load_explicit(&shards, memory_order_acquire); shard != NULL;
         shard = shard->next) {
        struct histogram *part =
            atomic_load_explicit(&shard->histograms[histogram], memory_order_acquire);
        if (part == NULL)
            continue;
        for (size_t i = 0; i < METRICS_BUCKETS; i++)
            out->buckets[i] += atomic_load_explicit(&part->buckets[i], memory_order_relaxed);
        out->sum_us += atomic_load_explicit(&part->sum_us, memory_order_relaxed);
    }
}

static void forget_series(struct metrics_list *list)
{
    for (int i = 0; i < list->count; i++) {
        free(list->series[i].family);
        free(list->series[i].help);
        free(list->series[i].labels);
    }
    list->count = 0;
}

void metrics_reset(void)
{
    forget_series(&metrics_counters);
    forget_series(&metrics_histograms);
    forget_series(&metrics_readings);
    groups = 0;

    struct shard *shard = atomic_exchange_explicit(&shards, NULL, memory_order_acquire);
    while (shard != NULL) {
        struct shard *next = shard->next;
        for (int i = 0; i < METRICS_MAX_HISTOGRAMS; i++)
            free(atomic_load_explicit(&shard->histograms[i], memory_order_relaxed));
        free(shard);
        shard = next;
    }
    if (mine != NULL)
        pthread_setspecific(end_of_thread, NULL);
    mine = NULL;
}
