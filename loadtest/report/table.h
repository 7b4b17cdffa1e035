/*
 * The table for people: a line for each strategy and number of instances, over all rounds. One list
 * of columns (table.c) says what both forms of it have: seven that choose, or every figure.
 *
 * Speed columns are medians over the rounds (± half the spread). Lines with as many instances stand
 * together, the fastest first.
 */
#ifndef SECKILL_LOADTEST_REPORT_TABLE_H
#define SECKILL_LOADTEST_REPORT_TABLE_H

#include "loadtest/report/document/document.h"

#include <stdio.h>

struct table_style {
    enum options_format format; /* wide: every figure; md: Markdown; else the seven columns */
    bool colours;               /* of a terminal */
};

/* Prints the table, with what went wrong below each line, and fills the tally of its verdicts. */
void table_print(FILE *to, const struct document *document, const struct table_style *style,
                 struct verdict_tally *tally);
/* What stands below the table: how many lines have which verdict, and what the words mean. */
void table_print_legend(FILE *to, const struct table_style *style,
                        const struct verdict_tally *tally);
/* What else happened meanwhile, a line each; nothing where nothing did. */
void table_print_meanwhile(FILE *to, const struct document *document);

/* What went wrong that has no column, a line each with `before` in front. */
void table_print_alarms(FILE *to, const char *before, const struct line *line);

#endif
