/* Figures that are made up, for `bench` to judge: a row of E's against nginx's. */
#ifndef SECKILL_TESTS_HARNESS_BENCH_BENCH_CASE_H
#define SECKILL_TESTS_HARNESS_BENCH_BENCH_CASE_H

#include "bench/judge.h"

extern struct bench_series case_series[BENCH_MEASURES];
extern struct bench_judgement case_judged; /* by the last case_judge */

/* The figures of E against those of nginx. */
struct bench_row case_row(double bound, bool most);
/* Rounds 1 to 3. */
void case_measured(enum bench_measure_id id, enum usage_limit limit, double a, double b, double c);
/* Rounds `first` to `last` as well, all alike. */
void case_again(enum bench_measure_id id, int first, int last, double value);
enum bench_verdict case_judge(const struct bench_row *of);

#endif
