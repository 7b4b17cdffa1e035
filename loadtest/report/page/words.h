/* The page's texts in both languages: the reader's choice hides one of them. These texts are the
 * program's own and stand as they are; all others go through words_text. */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_WORDS_H
#define SECKILL_LOADTEST_REPORT_PAGE_WORDS_H

#include "loadtest/report/document/document.h"

#include <stddef.h>
#include <stdio.h>

/* Text with what HTML would take for its own replaced; what no document may have is left out. NULL
 * is no text. */
void words_text(FILE *to, const char *text);

void words_both(FILE *to, const char *tag, const char *english, const char *chinese);

/* The same within an element that is open. */
void words_spans(FILE *to, const char *english, const char *chinese);

/* A section begins, with a note below its name. */
void words_heading(FILE *to, const char *english, const char *chinese, const char *note_english,
                   const char *note_chinese);

/* A table's first row. */
void words_headers(FILE *to, const char *const names[][2], size_t count);

/* A verdict's name, within an element that is open; and how it is coloured. */
void words_verdict(FILE *to, enum verdict verdict);
enum line_class words_verdict_class(enum verdict verdict);

/* A class is told by colour and by a sign, for readers who do not tell the colours apart. */
const char *words_sign(enum line_class class);

#endif
