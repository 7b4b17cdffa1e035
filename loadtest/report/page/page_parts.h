/* The parts of a page of runs (page.h). Private to this room. */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_PAGE_PARTS_H
#define SECKILL_LOADTEST_REPORT_PAGE_PAGE_PARTS_H

#include "loadtest/report/page/page.h"
#include "loadtest/report/page/words.h"

/* sentence.c: what a page begins with: what the document found, in a sentence or two, in a bar that
 * is red when anything sold too much; and a line that says when, by which command and on what it
 * was made, of which what the file does not say is left out. */
void sentence_write(FILE *to, const struct document *document);
void sentence_made(FILE *to, const json_t *document);

/* tables.c: every line of a run or a sweep, without a script; or, of a run with buyers who have yet
 * to pay (--scenario unpaid), what became of the orders, and what the rows said meanwhile and at
 * the end. */
void tables_lines(FILE *to, const struct document *document);
bool tables_are_unpaid(const struct document *document); /* whether the run was such a one */
void tables_unpaid(FILE *to, const struct document *document);

/* compare.c: several runs beside each other: what differs (document/apart.h), and, drawn by the
 * script, in which settings. */
void compare_write(FILE *to, const struct page_run *runs, size_t count);

#endif
