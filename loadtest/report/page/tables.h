/* Every line of a run or a sweep, without a script. */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_TABLES_H
#define SECKILL_LOADTEST_REPORT_PAGE_TABLES_H

#include "loadtest/report/document/document.h"

#include <stdio.h>

void tables_lines(FILE *to, const struct document *document);

#endif
