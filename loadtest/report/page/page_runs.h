/*
 * The page of runs. One: what it found, every line, pictures, machine and settings. Several: what
 * differs beyond the rounds' spread, then each.
 */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_PAGE_RUNS_H
#define SECKILL_LOADTEST_REPORT_PAGE_PAGE_RUNS_H

#include "loadtest/report/page/page.h"

/* FOLDER/report.html. */
bool page_write_runs(const char *folder, const struct page_run *runs, size_t count,
                     struct error *error);

/* The same of a document whose files are there. */
bool page_write_run(const char *folder, const struct document *document, struct error *error);

#endif
