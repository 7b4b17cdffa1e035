/* What the page says of one run or sweep without a script: how many lines have which verdict, and
 * every line. */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_TABLES_H
#define SECKILL_LOADTEST_REPORT_PAGE_TABLES_H

#include "loadtest/report/document/document.h"

#include <stdio.h>

void tables_verdicts(FILE *to, const struct document *document);
void tables_lines(FILE *to, const struct document *document);

#endif
