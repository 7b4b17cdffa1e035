/*
 * The table for people: a line for each strategy and number of instances, over all rounds. One list
 * of columns (table_print.c) says what both forms of it have: eight that choose, or every figure.
 *
 * Speed columns are medians over the rounds (± half the spread). Stock, sold, left and oversold are
 * those of the worst round, so that they add up; lost updates are the worst of any phase; the
 * verdict is over all. Lines with as many instances stand together, the fastest first.
 */
#ifndef SECKILL_LOADTEST_REPORT_TABLE_H
#define SECKILL_LOADTEST_REPORT_TABLE_H

#include "loadtest/phase/phase.h"

#include <stdio.h>

struct table_style {
    enum options_format format; /* wide: every figure; md: Markdown; else the eight columns */
    bool colours;               /* of a terminal */
};

/* Prints the table, with what went wrong below each line, and fills the tally of its verdicts. Runs
 * of one strategy and number of instances need not stand together. */
void table_print(FILE *to, const struct phase_result *runs, size_t count,
                 const struct table_style *style, struct verdict_tally *tally);
/* What stands below the table: how many lines have which verdict, and what the words mean. */
void table_print_legend(FILE *to, const struct table_style *style,
                        const struct verdict_tally *tally);
/* What else happened meanwhile, a line each; nothing where nothing did. */
void table_print_meanwhile(FILE *to, const struct phase_result *runs, size_t count);

/* Whether two runs belong to one line: the same strategy, number of instances and swept value. */
bool table_same_line(const struct phase_result *a, const struct phase_result *b);

struct span {
    double median, least, most;
};
/* Of `values`, which it sorts; all 0 of none. */
struct span span_of(double *values, size_t count);

enum table_figure {
    TABLE_REQUESTS,
    TABLE_COMMITTED,
    TABLE_REFUSED,
    TABLE_LIMITED, /* of those that were refused */
    TABLE_FAILED,
    TABLE_P50,
    TABLE_P99,
    TABLE_FIGURES
};

/* All runs of a line. */
struct table_line {
    struct span figures[TABLE_FIGURES]; /* rates a second, latencies in ms; over the rounds */
    size_t rounds, runs;                /* a run with an error has no figures, and is no round */
    size_t generators; /* nor has one of which wrk was the limit: those would be wrk's own */
    const struct phase_result *worst; /* of the phase that sells out, where there is one */
    int64_t lost_updates;
    enum verdict verdict;
    const char *error; /* NULL: each could be made */
    /* Violations without a column. */
    int64_t internal_errors, undersold, missing, resold, limits, others, unrepeatable;
    int64_t limited; /* refused by the limit where the speed was measured */
};
void table_gather(const struct phase_result *runs, size_t count, const struct phase_result *of,
                  struct table_line *line);

/* What went wrong that has no column, a line each with `before` in front. */
void table_print_alarms(FILE *to, const char *before, const struct table_line *line);

#endif
