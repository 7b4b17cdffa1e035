/*
 * What the page says of a run with buyers who have yet to pay (--scenario unpaid): what became of
 * the orders, and what the rows said meanwhile and at the end.
 */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_UNPAID_H
#define SECKILL_LOADTEST_REPORT_PAGE_UNPAID_H

#include "loadtest/report/document/document.h"

#include <stdio.h>

/* Whether the run was such a one. */
bool unpaid_is(const struct document *document);
void unpaid_section(FILE *to, const struct document *document);

#endif
