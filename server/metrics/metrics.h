/*
 * Metrics: counters and histograms that cost the hot path one relaxed add in memory of its own
 * thread.
 *
 * Series are registered by name at start, before any other thread runs; after that the set is
 * fixed. Each thread writes a shard of its own, made on first use; a scrape sums the shards. A
 * thread that ends leaves its shard behind for the next one, so nothing is lost and memory stays
 * bounded by the most threads that ever ran at once.
 *
 * Names follow Prometheus' rules: base units (seconds, bytes), _total for counters. Durations are
 * counted in whole microseconds and shown in seconds. A histogram's buckets are the same in each
 * instance and from the start, so that they can be summed.
 */
#ifndef SECKILL_METRICS_METRICS_H
#define SECKILL_METRICS_METRICS_H

#include <stdint.h>
#include <stdio.h>

enum {
    METRICS_MAX_COUNTERS = 4096,
    METRICS_MAX_HISTOGRAMS = 384,
    METRICS_MAX_READINGS = 192,
    METRICS_MAX_GROUPS = 4096
};

struct metrics;

/* A series that is counted in; by value. */
struct metric {
    struct metrics *of; /* borrowed; NULL: none */
    int id;
};

struct metrics *metrics_create(void); /* aborts when out of memory */
/* When no other thread counts or reads any more; NULL is allowed. */
void metrics_destroy(struct metrics *metrics);

/* A group's series are shown as soon as one of them is not 0, all together: what belongs to a
 * strategy that nobody uses is left out. METRICS_ALWAYS is the group of those that always are. */
enum { METRICS_ALWAYS = 0 };
int metrics_group(struct metrics *metrics);

/* What a series' numbers are, and how they are shown. */
enum metrics_unit { METRICS_NUMBER, METRICS_MICROSECONDS /* in seconds */ };

/* Registers a series. `family` is the metric's name, `labels` the text between
 * the braces (`strategy="none",outcome="sold_out"`) or "". Families must be registered
 * contiguously. Strings are copied. Registering more than the maximum is a programming error and
 * aborts. */
struct metric metrics_counter(struct metrics *metrics, int group, const char *family,
                              const char *help, const char *labels);
struct metric metrics_counter_of(struct metrics *metrics, enum metrics_unit unit, int group,
                                 const char *family, const char *help, const char *labels);
struct metric metrics_histogram(struct metrics *metrics, int group, const char *family,
                                const char *help, const char *labels);

/* Series that are read when scraped, by `read(context)`, from the scraping thread. */
void metrics_gauge(struct metrics *metrics, int group, const char *family, const char *help,
                   const char *labels, int64_t (*read)(void *context), void *context);
enum metrics_kind { METRICS_GAUGE, METRICS_COUNTER };
void metrics_reading(struct metrics *metrics, enum metrics_kind kind, enum metrics_unit unit,
                     const char *family, const char *help, int64_t (*read)(void *context),
                     void *context);

void metrics_add(struct metric counter, uint64_t n);
void metrics_observe(struct metric histogram, int64_t us);
/* This thread counts no more: for one that nobody joins before metrics_destroy. */
void metrics_leave(struct metrics *metrics);

uint64_t metrics_read(struct metric counter); /* the sum over all threads */

/* The Prometheus text format, version 0.0.4. One thread at a time. */
void metrics_render(struct metrics *metrics, FILE *to);

/* Registers what every exporter tells of its process: process_cpu_seconds_total and so on. */
void metrics_process_init(struct metrics *metrics);

/* How many shards there are: the most threads that ever counted at once. */
int metrics_shards(const struct metrics *metrics);

#endif
