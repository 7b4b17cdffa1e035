/*
 * A figure over rounds: its middle and its ends; and whether two runs differ, by the rounds of
 * both. That is Mann and Whitney's test, exact and of both sides. It knows nothing of how rounds
 * are spread, and takes equal ones against a difference. Of all pairs of a page together Holm's
 * correction says which may be called different, so that at most one page in twenty on which
 * nothing differs has a mark. Pure.
 */
#ifndef SECKILL_LOADTEST_REPORT_DOCUMENT_APART_H
#define SECKILL_LOADTEST_REPORT_DOCUMENT_APART_H

#include <stddef.h>

struct span {
    double median, least, most;
};
/* Of `values`, which it sorts; all 0 of none. */
struct span span_of(double *values, size_t count);

enum { APART_ROUNDS = 40 }; /* of each side; more say nothing new */

struct apart_rounds {
    double values[APART_ROUNDS];
    size_t count;
};

/* How often chance alone sets two of the same kind so far apart; 1 where a side has no round.
 * `*more`: the first has the larger ones. */
double apart_p(const struct apart_rounds *one, const struct apart_rounds *other, int *more);

/* The largest of `p`, which is sorted, that is no chance; below 0: all are. */
double apart_limit(double *p, size_t count);

/* How many rounds of each it takes before one of so many pairs can be called different. */
size_t apart_rounds_needed(size_t pairs);

#endif
