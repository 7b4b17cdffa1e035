/* Several runs beside each other: what differs (document/apart.h), and in which settings. */
#ifndef SECKILL_LOADTEST_REPORT_HTML_COMPARE_H
#define SECKILL_LOADTEST_REPORT_HTML_COMPARE_H

#include "loadtest/report/html/sections.h"

#include <stdio.h>

void compare_write(FILE *to, const struct html_run *runs, size_t count);

#endif
