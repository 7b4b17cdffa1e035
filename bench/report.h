/* The table for people, and bench.json and bench.csv: the rows, and every figure behind them. */
#ifndef SECKILL_BENCH_REPORT_H
#define SECKILL_BENCH_REPORT_H

#include "bench/bed.h"

struct bench_report {
    const struct bench *bench;
    const struct bench_row *rows[BENCH_ROWS_MAX]; /* those that were asked for */
    struct bench_judgement judgements[BENCH_ROWS_MAX];
    size_t count;
};
void bench_print(FILE *to, const struct bench_report *report);
bool bench_write_json(const struct bench_report *report, struct error *error);
bool bench_write_csv(const struct bench_report *report, struct error *error);

#endif
