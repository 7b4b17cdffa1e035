/* What the page's script draws of a run: its lines with their latencies, its schedules, what it was
 * made on, and its files to take out again. */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_DRAWN_H
#define SECKILL_LOADTEST_REPORT_PAGE_DRAWN_H

#include "loadtest/report/document/document.h"

#include <jansson.h>

struct page_run {
    const char *name;         /* as the reader knows it, a folder's; borrowed */
    const char *folder;       /* of its CSV files; NULL: not known; borrowed */
    struct document document; /* the caller's */
};

/* Owned by the caller; NULL: out of memory. */
json_t *drawn_of(const struct page_run *run);

#endif
