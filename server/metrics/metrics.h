/*
 * Metrics: counters and histograms that cost the hot path one relaxed add in memory of its own
 * thread.
 *
 * Series are registered by name at start, before any other thread runs; after that the set is
 * fixed. Each thread writes a shard of its own, made on first use; a scrape sums the shards. A
 * thread that ends leaves its shard behind for the next one, so nothing is lost and memory stays
 * bounded by the most threads that ever ran at once. Histograms are log-linear (HDR-style: 16 steps
 * per power of two, error at most 6.25 %), in microseconds, and are exposed as Prometheus
 * histograms in seconds.
 */
#ifndef SECKILL_METRICS_METRICS_H
#define SECKILL_METRICS_METRICS_H

#include <stdint.h>
#include <stdio.h>

enum { METRICS_MAX_COUNTERS = 4096, METRICS_MAX_HISTOGRAMS = 384, METRICS_MAX_GAUGES = 128 };

/* Registers a series and returns its id. `family` is the metric's name, `labels` the text between
 * the braces (`strategy="none",outcome="sold_out"`) or "". Families must be registered
 * contiguously. Strings are copied. Registering more than the maximum is a programming error and
 * aborts. */
int metrics_counter(const char *family, const char *help, const char *labels);
int metrics_histogram(const char *family, const char *help, const char *labels);
/* A gauge is read when scraped, by `read(context)`, from the scraping thread. */
void metrics_gauge(const char *family, const char *help, const char *labels,
                   int64_t (*read)(void *context), void *context);

void metrics_add(int counter, uint64_t n);
void metrics_observe(int histogram, int64_t us);

uint64_t metrics_read(int counter); /* the sum over all threads */

/* The Prometheus text format, version 0.0.4. */
void metrics_render(FILE *to);

/* How many shards there are: the most threads that ever counted at once. */
int metrics_shards(void);

/* Forgets every series and shard; for tests and the end of main, when no other thread runs. */
void metrics_reset(void);

#endif
