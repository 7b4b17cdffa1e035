/*
 * Small pictures of the latencies, one a strategy, all on the same axes so that they can be
 * compared: percentile curves, and histograms of committed, accepted, refused and failed orders
 * apart. Files without latencies one by one have none.
 */
#ifndef SECKILL_LOADTEST_REPORT_CHARTS_PANELS_H
#define SECKILL_LOADTEST_REPORT_CHARTS_PANELS_H

#include "loadtest/report/document/document.h"

#include <stdio.h>

/* Whether there is anything to draw. */
bool panels_has(const struct document *document);
void panels_percentiles(FILE *to, const struct document *document);
void panels_histograms(FILE *to, const struct document *document);

/* A curve: the share of answers that took no longer, as nines (0: none, 1: 90 %, 2: 99 % …), and
 * milliseconds. The last is the largest latency, at the share of all but one. */
struct panels_point {
    double nines, ms;
};
size_t panels_curve(const struct latency *latency, struct panels_point *out, size_t room);

/* A histogram with four bars to a power of two: how many of the answers are in each. */
enum { PANELS_BARS = HISTOGRAM_STEPS / 4 + 1 };
void panels_bars(const struct latency *latency, int64_t out[PANELS_BARS]);
double panels_bar_begin_ms(size_t bar);

/* Begins and ends a small picture's frame, with the strategy's name above it. */
void panels_begin(FILE *to, const struct line *line);
void panels_end(FILE *to);
/* What a line is called beside others of its strategy. */
void panels_name(FILE *to, const struct document *document, const struct line *line);

#endif
