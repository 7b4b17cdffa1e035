/*
 * A shard is what one thread counts in. Its owner alone writes it, so an add is a relaxed load and
 * a relaxed store; readers only ever see a number that was true a moment ago. Shards stand in a
 * list that grows and never shrinks. When a thread ends its shard goes, with everything counted in
 * it, to the next thread that needs one (the mutex of that handover orders the two owners' writes).
 *
 * A histogram's steps are allocated in a shard when its thread first observes into it: most threads
 * serve one strategy and touch few of the series.
 */
#include "metrics/metrics.h"

#include "metrics/histogram.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct series {
    char *family;                   /* owned */
    char *help;                     /* owned */
    char *labels;                   /* owned */
    int64_t (*read)(void *context); /* gauges alone */
    void *context;                  /* borrowed: the caller */
};

struct histogram {
    _Atomic uint64_t steps[HISTOGRAM_STEPS];
    _Atomic uint64_t sum_us;
};

struct shard {
    struct shard *next; /* the list of all; never changes once it is in it */
    bool used;          /* some thread's; guarded by handover */
    _Atomic uint64_t counters[METRICS_MAX_COUNTERS];
    struct histogram *_Atomic histograms[METRICS_MAX_HISTOGRAMS]; /* owned; NULL until observed */
};

/* Written at start, before any other thread runs. */
static struct series counters[METRICS_MAX_COUNTERS];
static struct series histograms[METRICS_MAX_HISTOGRAMS];
static struct series gauges[METRICS_MAX_GAUGES];
static int counter_count;
static int histogram_count;
static int gauge_count;

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

static int add_series(struct series *list, int *count, int max, const char *family,
                      const char *help, const char *labels)
{
    if (*count == max)
        abort();
    list[*count] = (struct series){
        .family = must(strdup(family)),
        .help = must(strdup(help)),
        .labels = must(strdup(labels)),
    };
    return (*count)++;
}

int metrics_counter(const char *family, const char *help, const char *labels)
{
    return add_series(counters, &counter_count, METRICS_MAX_COUNTERS, family, help, labels);
}

int metrics_histogram(const char *family, const char *help, const char *labels)
{
    return add_series(histograms, &histogram_count, METRICS_MAX_HISTOGRAMS, family, help, labels);
}

void metrics_gauge(const char *family, const char *help, const char *labels,
                   int64_t (*read)(void *context), void *context)
{
    int gauge = add_series(gauges, &gauge_count, METRICS_MAX_GAUGES, family, help, labels);
    gauges[gauge].read = read;
    gauges[gauge].context = context;
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
    bump(&own->steps[histogram_step(us)], 1);
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

static void sum_histogram(int histogram, uint64_t steps[HISTOGRAM_STEPS], uint64_t *sum_us)
{
    memset(steps, 0, HISTOGRAM_STEPS * sizeof *steps);
    *sum_us = 0;
    for (struct shard *shard = atomic_load_explicit(&shards, memory_order_acquire); shard != NULL;
         shard = shard->next) {
        struct histogram *part =
            atomic_load_explicit(&shard->histograms[histogram], memory_order_acquire);
        if (part == NULL)
            continue;
        for (size_t i = 0; i < HISTOGRAM_STEPS; i++)
            steps[i] += atomic_load_explicit(&part->steps[i], memory_order_relaxed);
        *sum_us += atomic_load_explicit(&part->sum_us, memory_order_relaxed);
    }
}

/* HELP and TYPE stand once, before a family's first series. */
static void render_family(FILE *to, const struct series *list, int index, const char *type)
{
    const struct series *series = &list[index];
    if (index > 0 && strcmp(series->family, list[index - 1].family) == 0)
        return;
    fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", series->family, series->help, series->family, type);
}

static void render_value(FILE *to, const struct series *series, int64_t value)
{
    if (*series->labels == '\0')
        fprintf(to, "%s %" PRId64 "\n", series->family, value);
    else
        fprintf(to, "%s{%s} %" PRId64 "\n", series->family, series->labels, value);
}

static void render_seconds(FILE *to, uint64_t us)
{
    fprintf(to, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
}

static void render_bucket(FILE *to, const struct series *series, size_t step, uint64_t count)
{
    fprintf(to, "%s_bucket{%s%sle=\"", series->family, series->labels,
            *series->labels == '\0' ? "" : ",");
    if (step == HISTOGRAM_STEPS - 1)
        fputs("+Inf", to);
    else
        render_seconds(to, (uint64_t)histogram_step_end(step));
    fprintf(to, "\"} %" PRIu64 "\n", count);
}

/*
 * All 465 steps would be most of a scrape and mostly zeros. Both ends of a step that holds
 * something are written, which is all that a quantile needs; and the powers of two from 16 us to 67
 * s always, so that rates have buckets that were there from the start.
 */
static bool is_rendered(const uint64_t steps[HISTOGRAM_STEPS], size_t step)
{
    enum { FIRST = 15, LAST = 23 * HISTOGRAM_STEPS_PER_POWER - 1 };
    bool power_of_two = step % HISTOGRAM_STEPS_PER_POWER == HISTOGRAM_STEPS_PER_POWER - 1;

    if (step == HISTOGRAM_STEPS - 1 || steps[step] > 0 || steps[step + 1] > 0)
        return true;
    return power_of_two && step >= FIRST && step <= LAST;
}

static void render_histogram(FILE *to, int histogram)
{
    const struct series *series = &histograms[histogram];
    uint64_t steps[HISTOGRAM_STEPS];
    uint64_t sum_us;
    uint64_t count = 0;

    sum_histogram(histogram, steps, &sum_us);
    for (size_t i = 0; i < HISTOGRAM_STEPS; i++) {
        count += steps[i];
        if (is_rendered(steps, i))
            render_bucket(to, series, i, count);
    }

    bool bare = *series->labels == '\0';
    const char *open = bare ? "" : "{";
    const char *close = bare ? "" : "}";
    fprintf(to, "%s_sum%s%s%s ", series->family, open, series->labels, close);
    render_seconds(to, sum_us);
    fprintf(to, "\n%s_count%s%s%s %" PRIu64 "\n", series->family, open, series->labels, close,
            count);
}

void metrics_render(FILE *to)
{
    for (int i = 0; i < counter_count; i++) {
        render_family(to, counters, i, "counter");
        render_value(to, &counters[i], (int64_t)metrics_read(i));
    }
    for (int i = 0; i < gauge_count; i++) {
        render_family(to, gauges, i, "gauge");
        render_value(to, &gauges[i], gauges[i].read(gauges[i].context));
    }
    for (int i = 0; i < histogram_count; i++) {
        render_family(to, histograms, i, "histogram");
        render_histogram(to, i);
    }
}

static void forget_series(struct series *list, int *count)
{
    for (int i = 0; i < *count; i++) {
        free(list[i].family);
        free(list[i].help);
        free(list[i].labels);
    }
    *count = 0;
}

void metrics_reset(void)
{
    forget_series(counters, &counter_count);
    forget_series(histograms, &histogram_count);
    forget_series(gauges, &gauge_count);

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
