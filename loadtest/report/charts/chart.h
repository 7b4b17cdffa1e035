/*
 * Pictures of what a run found, as SVG. They stand in the page, and alone as files (chart_alone),
 * with a light and a dark dress. A class is told by colour and by a sign, for readers who do not
 * tell the colours apart.
 */
#ifndef SECKILL_LOADTEST_REPORT_CHARTS_CHART_H
#define SECKILL_LOADTEST_REPORT_CHARTS_CHART_H

#include "loadtest/report/document/document.h"

#include <stdio.h>

/* Committed orders a second on a log axis: a bar for each line, a whisker from the least to the
 * most of the rounds. */
void chart_rates(FILE *to, const struct document *document);
/* p50, p90, p99 and the longest on a log axis. */
void chart_latencies(FILE *to, const struct document *document);

/* The rates as a file of their own, without a reader's choice of language. */
void chart_alone(FILE *to, const struct document *document);

/* The sign of a class. */
const char *chart_sign(enum line_class class);

#endif
