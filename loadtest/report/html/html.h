/*
 * report.html: what runs found, as one file without a network: for passing on. English and Chinese,
 * light and dark, by the reader's browser and two buttons; without scripts it is there all the
 * same.
 *
 * One run: its verdicts, rates, latencies, every line as a table, the open loop's parts where there
 * was a rate, machine and settings. Several: what differs beyond the rounds' spread, then each.
 */
#ifndef SECKILL_LOADTEST_REPORT_HTML_HTML_H
#define SECKILL_LOADTEST_REPORT_HTML_HTML_H

#include "loadtest/report/html/sections.h"

/* FOLDER/report.html, the page's frame around what `write` writes. */
bool html_page(const char *folder, void (*write)(FILE *to, const void *context),
               const void *context, struct error *error);

/* FOLDER/report.html. */
bool html_write(const char *folder, const struct html_run *runs, size_t count, struct error *error);

/* The same of a document whose files are there. */
bool html_write_run(const char *folder, const struct document *document, struct error *error);

#endif
