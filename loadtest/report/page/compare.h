/* Several runs beside each other: what differs (document/apart.h), and, drawn by the script, in
 * which settings. */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_COMPARE_H
#define SECKILL_LOADTEST_REPORT_PAGE_COMPARE_H

#include "loadtest/report/page/page.h"

#include <stdio.h>

void compare_write(FILE *to, const struct page_run *runs, size_t count);

#endif
