/*
 * pgbench as a child process: the same transactions as the server's, on the same tables, by the
 * program that PostgreSQL's own people measure with. What counts is rows in orders, not
 * transactions: an optimistic transaction that lost its race ends well and sells nothing.
 */
#ifndef SECKILL_BENCH_TOOLS_PGBENCH_H
#define SECKILL_BENCH_TOOLS_PGBENCH_H

#include "loadtest/judge/witness.h"

/* Finds pgbench in PATH or below /usr/lib/postgresql. */
bool pgbench_find(char *out, size_t size, struct error *error);

struct pgbench_load {
    const char *program;             /* from pgbench_find */
    const char *conninfo;            /* "": the PG* variables */
    const char *strategy;            /* pessimistic, optimistic or conditional */
    const char *folder;              /* where its script and output go */
    int64_t first_product, products; /* each transaction picks one */
    int clients;
    int64_t duration_s;
};

/* Orders a second. The products must be on sale, with stock that cannot run out and no orders. */
bool pgbench_run(const struct pgbench_load *load, struct witness *witness, double *orders_per_s,
                 struct error *error);

/* Reads how many transactions there were and how many a second. */
bool pgbench_parse(const char *output, double *transactions, double *per_s, struct error *error);

#endif
