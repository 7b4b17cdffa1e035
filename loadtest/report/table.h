/*
 * The table for people: a line for each strategy and number of instances, over all rounds.
 *
 * Speed columns are medians over the rounds (± half the spread). Stock, sold, left and oversold are
 * those of the worst round, so that they add up; lost updates are the worst of any phase; the
 * verdict is over all.
 */
#ifndef SECKILL_LOADTEST_REPORT_TABLE_H
#define SECKILL_LOADTEST_REPORT_TABLE_H

#include "loadtest/phase/phase.h"

#include <stdio.h>

/* Prints the table and fills the tally of its verdicts. Runs of one strategy and number of
 * instances need not stand together. */
void table_print(FILE *to, const struct phase_result *runs, size_t count,
                 struct verdict_tally *tally);

/* Whether two runs belong to one line: the same strategy and number of instances. */
bool table_same_line(const struct phase_result *a, const struct phase_result *b);

/* The lines below a run's own: what went wrong that has no column. Nothing when nothing did. */
void table_print_alarms(FILE *to, const struct phase_result *run);

/* The median of `values`, which it sorts; `spread` (may be NULL) gets half of largest minus
 * smallest. */
double table_median(double *values, size_t count, double *spread);

#endif
