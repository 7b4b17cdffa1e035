/* What the page says of one run or sweep: verdicts, pictures, every line, machine and settings. */
#ifndef SECKILL_LOADTEST_REPORT_HTML_SECTIONS_H
#define SECKILL_LOADTEST_REPORT_HTML_SECTIONS_H

#include "loadtest/report/document/document.h"

#include <stdio.h>

struct html_run {
    const char *name; /* as the reader knows it, a folder's; borrowed */
    const char *link; /* from the page to its files: "" beside it, "DIR/"; NULL: none; borrowed */
    struct document document; /* the caller's */
};

void sections_write(FILE *to, const struct document *document);

#endif
