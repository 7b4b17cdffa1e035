/* Several runs beside each other: what differs beyond the rounds' spread, and in which settings. */
#ifndef SECKILL_LOADTEST_REPORT_HTML_COMPARE_H
#define SECKILL_LOADTEST_REPORT_HTML_COMPARE_H

#include "loadtest/report/html/sections.h"

#include <stdio.h>

void compare_write(FILE *to, const struct html_run *runs, size_t count);

/* How a figure of one run stands to another's. Where one of them has a single round nobody knows
 * its spread, and nothing is claimed. */
enum compare_result { COMPARE_UNKNOWN, COMPARE_ALIKE, COMPARE_LESS, COMPARE_MORE };
enum compare_result compare_spans(const struct span *its, size_t its_rounds,
                                  const struct span *first, size_t first_rounds);

#endif
