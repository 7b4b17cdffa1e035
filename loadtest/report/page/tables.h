/* Every line of a run or a sweep, without a script; or, of a run with buyers who have yet to pay
 * (--scenario unpaid), what became of the orders, and what the rows said meanwhile and at the end.
 */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_TABLES_H
#define SECKILL_LOADTEST_REPORT_PAGE_TABLES_H

#include "loadtest/report/document/document.h"

#include <stdio.h>

void tables_lines(FILE *to, const struct document *document);

/* Whether the run was such a one. */
bool tables_are_unpaid(const struct document *document);
void tables_unpaid(FILE *to, const struct document *document);

#endif
