/* A sweep: for each strategy, what a setting's values gave: committed orders a second, and p50 and
 * p99 below them. All strategies have the same axes. */
#ifndef SECKILL_LOADTEST_REPORT_CHARTS_SWEPT_H
#define SECKILL_LOADTEST_REPORT_CHARTS_SWEPT_H

#include "loadtest/report/document/document.h"

#include <stdio.h>

void swept_panels(FILE *to, const struct document *document);

/* How a value stands to the best of its strategy. */
enum swept_mark { SWEPT_BEST, SWEPT_LIKE_BEST /* no difference is shown */, SWEPT_LESS };
enum swept_mark swept_mark_of(const struct document *document, const struct line *line);

#endif
