/*
 * Axes of charts: from a figure to a place in the picture. A log axis goes from a power of ten to
 * another, a linear one from 0 to a round number.
 *
 * Begins as {.log = true} or {.log = false}; takes every figure that is to be shown, is settled,
 * and places them from then on. What lies outside is placed at the nearer end.
 */
#ifndef SECKILL_LOADTEST_REPORT_CHARTS_AXIS_H
#define SECKILL_LOADTEST_REPORT_CHARTS_AXIS_H

#include <stdbool.h>
#include <stddef.h>

enum { AXIS_TICKS = 32 };

struct axis {
    bool log;
    double least, most; /* of what was taken; on a log axis of what is above 0 */
    double from, to;    /* figures at its ends */
    double begin, end;  /* its ends in the picture */
};

void axis_take(struct axis *axis, double value);
void axis_settle(struct axis *axis, double begin, double end);
double axis_place(const struct axis *axis, double value);

/* The figures to write beside it: powers of ten, with 2 and 5 times them where there is but one
 * decade; of a linear axis four to ten round ones. Returns how many. */
size_t axis_ticks(const struct axis *axis, double ticks[AXIS_TICKS]);

/* How many decimals a tick has. */
int axis_decimals(double tick);

#endif
