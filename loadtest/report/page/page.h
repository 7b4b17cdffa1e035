/*
 * report.html: one file without a network, for passing on. English and Chinese, light and dark, by
 * the reader's browser and two buttons.
 *
 * Verdicts and tables are HTML that is written here, and are there without scripts; pictures are
 * drawn by the script of page.html, of the document that is embedded, where an element has
 * data-draw.
 */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_PAGE_H
#define SECKILL_LOADTEST_REPORT_PAGE_PAGE_H

#include "base/error.h"
#include "loadtest/report/document/document.h"

#include <jansson.h>
#include <stdio.h>

/* A run that a page is about. */
struct page_run {
    const char *name;         /* as the reader knows it, a folder's; borrowed */
    const char *folder;       /* of its CSV files; NULL: not known; borrowed */
    struct document document; /* the caller's */
};

/* FOLDER/report.html, in whose frame stands what is written between the two; NULL: it cannot be
 * made. `drawn` is what the script draws, and is taken. */
FILE *page_begin(const char *folder, struct error *error);
bool page_end(FILE *page, json_t *drawn, struct error *error);

/* The page of runs, by page_runs.c. One: what it found, every line, pictures, machine and settings.
 * Several: what differs beyond the rounds' spread, then each. */
bool page_write_runs(const char *folder, const struct page_run *runs, size_t count,
                     struct error *error);
/* The same of a document whose files are there. */
bool page_write_run(const char *folder, const struct document *document, struct error *error);

/* Adds a file's text to "files", which the reader may take out of the page again; one that cannot
 * be read is left out. */
void page_add_file(json_t *files, const char *folder, const char *name);

/* --- words: texts in both languages, of which the reader's choice hides one. They are the
 * program's own and stand as they are; all others go through words_text --- */

/* As text or as an attribute's value, in HTML and in XML. What neither can hold, or was cut off
 * within a character, is shown as U+FFFD; a tab or a line's end in an attribute would be read as a
 * blank. NULL is no text. */
void words_text(FILE *to, const char *text);

void words_both(FILE *to, const char *tag, const char *english, const char *chinese);

/* The same within an element that is open. */
void words_spans(FILE *to, const char *english, const char *chinese);

/* A section begins, with a note below its name. */
void words_heading(FILE *to, const char *english, const char *chinese, const char *note_english,
                   const char *note_chinese);

/* A table's first row. */
void words_headers(FILE *to, const char *const names[][2], size_t count);

/* The verdict that a page shows of a line, and how it is coloured. */
enum verdict words_shown(const struct document *document, const struct line *line);
enum line_class words_verdict_class(enum verdict verdict);

/* --- the parts of a page of runs, for page_runs.c --- */

/* sentence.c: what a page begins with: what the document found, in a sentence or two, in a bar that
 * is red when anything sold too much; and a line that says when, by which command and on what it
 * was made, of which what the file does not say is left out. */
void sentence_write(FILE *to, const struct document *document);
void sentence_made(FILE *to, const json_t *document);

/* compare.c: several runs beside each other: what differs (document/apart.h), and, drawn by the
 * script, in which settings. */
void compare_write(FILE *to, const struct page_run *runs, size_t count);

#endif
