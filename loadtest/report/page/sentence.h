/*
 * What a page begins with: what the document found, in a sentence or two, in a bar that is red when
 * anything sold too much; and a line that says when, by which command and on what it was made.
 */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_SENTENCE_H
#define SECKILL_LOADTEST_REPORT_PAGE_SENTENCE_H

#include "loadtest/report/document/document.h"

#include <stdio.h>

void sentence_write(FILE *to, const struct document *document);
/* What the file does not say is left out. */
void sentence_made(FILE *to, const json_t *document);

#endif
