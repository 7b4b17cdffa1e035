/* The bench: how close the server comes to what the machine can do. */
#ifndef SECKILL_BENCH_BENCH_H
#define SECKILL_BENCH_BENCH_H

#include "bench/flags.h"

/* All of it: measures, prints, writes the files. The program's exit status. */
int bench_command(const struct bench_options *options);

#endif
