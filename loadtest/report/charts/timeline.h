/* What happened when, at a given rate: offered and answered orders a second, and below them, on the
 * same time, p50 and p99 of the orders that were due then. */
#ifndef SECKILL_LOADTEST_REPORT_CHARTS_TIMELINE_H
#define SECKILL_LOADTEST_REPORT_CHARTS_TIMELINE_H

#include "loadtest/report/document/answers.h"

#include <stdio.h>

/* Of one run in results.json. Nothing where it has no timeline, and false. */
bool timeline_draw(FILE *to, const json_t *run);

/* What a part of a schedule is called; NULL: it is none that is known. */
const char *timeline_part_chinese(const char *name);

#endif
