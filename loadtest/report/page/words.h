/* The page's texts in both languages: the reader's choice hides one of them. These texts are the
 * program's own and stand as they are; all others go through words_text. */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_WORDS_H
#define SECKILL_LOADTEST_REPORT_PAGE_WORDS_H

#include "loadtest/report/document/document.h"

#include <stddef.h>
#include <stdio.h>

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

#endif
