/*
 * The kinds of measurement. Each is false when everything must end (a server died, an interrupt);
 * what concerns the measurement alone goes into its series' `why`.
 */
#ifndef SECKILL_BENCH_TAKE_TAKE_H
#define SECKILL_BENCH_TAKE_TAKE_H

#include "bench/bed.h"

typedef bool bench_take(struct bench *bench, const struct bench_measure *measure,
                        struct bench_sample *sample, struct error *error);

bench_take bench_take_answers, bench_take_http, bench_take_pgbench;
bench_take bench_take_idle, bench_take_long, bench_take_overload;

/* What bench_take_long has put into the database goes again. */
bool bench_clean_long(struct bench *bench, struct error *error);

/* Finds pgbench's best client count. */
bool bench_try_clients(struct bench *bench, const struct bench_measure *measure,
                       struct error *error);

#endif
