/* The tables of the bench: see bench.h, and docs/PERFORMANCE.md for what each row is about. */
#include "bench/bench.h"

#include <stdlib.h>

const int bench_client_counts[2][BENCH_CLIENT_COUNTS] = {{1, 2, 4, 8, 16}, {4, 8, 16, 32, 64}};

/* What a measurement has of its own besides its name; designated, so that the rest is 0. */
#define MEASURE(its_name, how, ...)  .name = (its_name), .take = (how), __VA_ARGS__
#define HTTP(its_name, its_strategy) MEASURE(its_name, bench_take_http, .strategy = (its_strategy))
#define HTTP_AT(its_name, its_strategy, count)                                                     \
    MEASURE(its_name, bench_take_http, .strategy = (its_strategy), .connections = (count))
/* wrk with one thread: with two it would round an odd number down */
#define HTTP_ONE(its_name, its_strategy, count)                                                    \
    MEASURE(its_name, bench_take_http, .strategy = (its_strategy), .connections = (count),         \
            .threads = 1)
#define HTTP_SPREAD(its_name, its_strategy)                                                        \
    MEASURE(its_name, bench_take_http, .strategy = (its_strategy), .products = 100)
#define REFUSALS(its_name, its_strategy)                                                           \
    MEASURE(its_name, bench_take_http, .strategy = (its_strategy), .sold_out = true)
#define PGBENCH(its_strategy)                                                                      \
    MEASURE("pgbench-" its_strategy, bench_take_pgbench, .strategy = (its_strategy))
#define PGBENCH_SPREAD(its_strategy)                                                               \
    MEASURE("pgbench-" its_strategy "-spread", bench_take_pgbench, .strategy = (its_strategy),     \
            .products = 100)
#define OVERLOAD(its_strategy, how_many)                                                           \
    MEASURE(its_strategy "-times-" #how_many, bench_take_overload, .strategy = (its_strategy),     \
            .times = (how_many))

const struct bench_measure bench_measures[BENCH_MEASURES] = {
    [MEASURE_NGINX] = {MEASURE("nginx", bench_take_nginx, .products = 1)},
    [MEASURE_E] = {MEASURE("E", bench_take_ceiling, .products = 1)},
    [MEASURE_BATCH] = {HTTP("batch", "batch")},
    [MEASURE_STOCK] = {HTTP("redis-stock", "redis-stock")},
    [MEASURE_STOCK_REFUSALS] = {REFUSALS("redis-stock-refusals", "redis-stock")},
    [MEASURE_BATCH_REFUSALS] = {REFUSALS("batch-refusals", "batch")},
    [MEASURE_QUEUE] = {HTTP("redis-queue", "redis-queue")},
    [MEASURE_QUEUE_3] = {MEASURE("redis-queue-3", bench_take_http, .strategy = "redis-queue",
                                 .instances = 3)},
    [MEASURE_BATCH_SPREAD] = {HTTP_SPREAD("batch-spread", "batch")},
    [MEASURE_PESSIMISTIC] = {HTTP("pessimistic", "pessimistic")},
    [MEASURE_PGBENCH_PESSIMISTIC] = {PGBENCH("pessimistic")},
    [MEASURE_TOKEN] = {HTTP("redis-token", "redis-token")},
    [MEASURE_OPTIMISTIC] = {HTTP("optimistic", "optimistic")},
    [MEASURE_PGBENCH_OPTIMISTIC] = {PGBENCH("optimistic")},
    [MEASURE_CONDITIONAL] = {HTTP("conditional", "conditional")},
    [MEASURE_PGBENCH_CONDITIONAL] = {PGBENCH("conditional")},
    [MEASURE_PESSIMISTIC_SPREAD] = {HTTP_SPREAD("pessimistic-spread", "pessimistic")},
    [MEASURE_PGBENCH_PESSIMISTIC_SPREAD] = {PGBENCH_SPREAD("pessimistic")},
    [MEASURE_OPTIMISTIC_SPREAD] = {HTTP_SPREAD("optimistic-spread", "optimistic")},
    [MEASURE_PGBENCH_OPTIMISTIC_SPREAD] = {PGBENCH_SPREAD("optimistic")},
    [MEASURE_CONDITIONAL_SPREAD] = {HTTP_SPREAD("conditional-spread", "conditional")},
    [MEASURE_PGBENCH_CONDITIONAL_SPREAD] = {PGBENCH_SPREAD("conditional")},
    [MEASURE_BATCH_C1] = {HTTP_ONE("batch-c1", "batch", 1)},
    [MEASURE_CONDITIONAL_C1] = {HTTP_ONE("conditional-c1", "conditional", 1)},
    [MEASURE_BATCH_C1000] = {HTTP_AT("batch-c1000", "batch", 1000)},
    [MEASURE_BATCH_C4000] = {HTTP_AT("batch-c4000", "batch", 4000)},
    [MEASURE_STOCK_C1000] = {HTTP_AT("redis-stock-c1000", "redis-stock", 1000)},
    [MEASURE_STOCK_C4000] = {HTTP_AT("redis-stock-c4000", "redis-stock", 4000)},
    [MEASURE_BATCH_C128] = {HTTP_ONE("batch-c128", "batch", 128)},
    [MEASURE_BATCH_C129] = {HTTP_ONE("batch-c129", "batch", 129)},
    [MEASURE_BATCH_C256] = {HTTP_ONE("batch-c256", "batch", 256)},
    [MEASURE_BATCH_C257] = {HTTP_ONE("batch-c257", "batch", 257)},
    [MEASURE_BATCH_C384] = {HTTP_ONE("batch-c384", "batch", 384)},
    [MEASURE_BATCH_C385] = {HTTP_ONE("batch-c385", "batch", 385)},
    [MEASURE_BATCH_C1024] = {HTTP_ONE("batch-c1024", "batch", 1024)},
    [MEASURE_BATCH_C1025] = {HTTP_ONE("batch-c1025", "batch", 1025)},
    [MEASURE_CONDITIONAL_TWICE] = {OVERLOAD("conditional", 2)},
    [MEASURE_CONDITIONAL_TENFOLD] = {OVERLOAD("conditional", 10)},
    [MEASURE_PESSIMISTIC_TWICE] = {OVERLOAD("pessimistic", 2)},
    [MEASURE_PESSIMISTIC_TENFOLD] = {OVERLOAD("pessimistic", 10)},
    [MEASURE_IDLE] = {MEASURE("idle", bench_take_idle, .connections = 10000)},
    [MEASURE_LONG] = {MEASURE("long", bench_take_long, .strategy = "batch", .last = true)},
};

#define RATE(measure)       MEASURE_##measure, FIGURE_RATE
#define FIGURE(measure, of) MEASURE_##measure, FIGURE_##of
#define ALONE               MEASURE_NONE, FIGURE_RATE

/* number, what, figure, against, bound, aim, at most?, in the short form? */
#define ROW(number, what, figure, against, bound, aim, most, brief)                                \
    number, what, {figure}, {against}, bound, aim, most, brief

const struct bench_row bench_rows[] = {
    {ROW(1, "E / nginx `return 200`", RATE(E), RATE(NGINX), 0.75, 0.95, false, true)},
    {ROW(1, "CPU of nginx / CPU of E, a request", FIGURE(NGINX, CPU_US), FIGURE(E, CPU_US), 0, 0,
         false, true)},
    {ROW(2, "batch / E", RATE(BATCH), RATE(E), 0.40, 0.60, false, true)},
    {ROW(2, "batch / pgbench, single statement", RATE(BATCH), RATE(PGBENCH_CONDITIONAL), 10, 0,
         false, true)},
    {ROW(3, "batch, 100 products / one", RATE(BATCH_SPREAD), RATE(BATCH), 0.65, 0.95, false,
         false)},
    {ROW(4, "redis-queue / batch", RATE(QUEUE), RATE(BATCH), 0.7, 1.0, false, true)},
    {ROW(4, "redis-queue, 3 instances / batch", RATE(QUEUE_3), RATE(BATCH), 0.5, 0.9, false,
         false)},
    {ROW(5, "redis-stock, answered 202 / E", RATE(STOCK), RATE(E), 0.45, 0.65, false, true)},
    {ROW(5, "redis-stock, in PostgreSQL / E", FIGURE(STOCK, COMMITTED), RATE(E), 0, 0, false,
         true)},
    {ROW(6, "refusals: redis-stock / E", RATE(STOCK_REFUSALS), RATE(E), 0.80, 0.95, false, true)},
    {ROW(7, "refusals: batch / E", RATE(BATCH_REFUSALS), RATE(E), 0.50, 0.65, false, true)},
    {ROW(8, "pessimistic / pgbench", RATE(PESSIMISTIC), RATE(PGBENCH_PESSIMISTIC), 0.85, 1.05,
         false, true)},
    {ROW(8, "optimistic / pgbench", RATE(OPTIMISTIC), RATE(PGBENCH_OPTIMISTIC), 0.85, 1.05, false,
         true)},
    {ROW(8, "conditional / pgbench", RATE(CONDITIONAL), RATE(PGBENCH_CONDITIONAL), 0.85, 1.05,
         false, true)},
    {ROW(9, "pessimistic / pgbench, 100 products", RATE(PESSIMISTIC_SPREAD),
         RATE(PGBENCH_PESSIMISTIC_SPREAD), 0.65, 0.85, false, false)},
    {ROW(9, "optimistic / pgbench, 100 products", RATE(OPTIMISTIC_SPREAD),
         RATE(PGBENCH_OPTIMISTIC_SPREAD), 0.70, 0.85, false, false)},
    {ROW(9, "conditional / pgbench, 100 products", RATE(CONDITIONAL_SPREAD),
         RATE(PGBENCH_CONDITIONAL_SPREAD), 0.60, 0.85, false, false)},
    {ROW(10, "redis-token / pgbench FOR UPDATE", RATE(TOKEN), RATE(PGBENCH_PESSIMISTIC), 0.60, 0.80,
         false, true)},
    {ROW(11, "p99 of batch, ms", FIGURE(BATCH, P99_MS), ALONE, 20, 10, true, false)},
    {ROW(11, "p99 of redis-stock, ms", FIGURE(STOCK, P99_MS), ALONE, 15, 8, true, false)},
    {ROW(11, "p99 of batch / of nginx `return 200`", FIGURE(BATCH, P99_MS), FIGURE(NGINX, P99_MS),
         0, 0, true, false)},
    {ROW(11, "p99 of redis-stock / of nginx `return 200`", FIGURE(STOCK, P99_MS),
         FIGURE(NGINX, P99_MS), 0, 0, true, false)},
    {ROW(12, "p50 at one connection: batch / conditional", FIGURE(BATCH_C1, P50_MS),
         FIGURE(CONDITIONAL_C1, P50_MS), 1.3, 1.0, true, true)},
    {ROW(13, "batch, 1000 connections / 256", RATE(BATCH_C1000), RATE(BATCH), 0.8, 1.0, false,
         false)},
    {ROW(13, "batch, 4000 connections / 256", RATE(BATCH_C4000), RATE(BATCH), 0.8, 1.0, false,
         false)},
    {ROW(13, "redis-stock, 1000 connections / 256", RATE(STOCK_C1000), RATE(STOCK), 0.8, 1.0, false,
         false)},
    {ROW(13, "redis-stock, 4000 connections / 256", RATE(STOCK_C4000), RATE(STOCK), 0.8, 1.0, false,
         false)},
    {ROW(14, "batch, 128 connections / 129", RATE(BATCH_C128), RATE(BATCH_C129), 0.8, 1.0, false,
         false)},
    {ROW(14, "batch, 256 connections / 257", RATE(BATCH_C256), RATE(BATCH_C257), 0.8, 1.0, false,
         false)},
    {ROW(14, "batch, 384 connections / 385", RATE(BATCH_C384), RATE(BATCH_C385), 0.8, 1.0, false,
         false)},
    {ROW(14, "batch, 1024 connections / 1025", RATE(BATCH_C1024), RATE(BATCH_C1025), 0.8, 1.0,
         false, false)},
    {ROW(15, "batch for 60 s / its first 5 s", FIGURE(LONG, SHARE), ALONE, 0.7, 0.9, false, false)},
    {ROW(16, "memory of an idle connection, KiB", FIGURE(IDLE, KIB), ALONE, 16, 10, true, false)},
    {ROW(16, "of 10000 idle connections, then served", FIGURE(IDLE, SHARE), ALONE, 1, 1, false,
         false)},
    {ROW(17, "conditional, offered 2 times its peak", FIGURE(CONDITIONAL_TWICE, OVERLOADED),
         RATE(CONDITIONAL_TWICE), 0.9, 0.95, false, false)},
    {ROW(17, "conditional, offered 10 times its peak", FIGURE(CONDITIONAL_TENFOLD, OVERLOADED),
         RATE(CONDITIONAL_TENFOLD), 0.9, 0.95, false, false)},
    {ROW(17, "pessimistic, offered 2 times its peak", FIGURE(PESSIMISTIC_TWICE, OVERLOADED),
         RATE(PESSIMISTIC_TWICE), 0.9, 0.95, false, false)},
    {ROW(17, "pessimistic, offered 10 times its peak", FIGURE(PESSIMISTIC_TENFOLD, OVERLOADED),
         RATE(PESSIMISTIC_TENFOLD), 0.9, 0.95, false, false)},
};

const size_t bench_rows_count = sizeof bench_rows / sizeof bench_rows[0];

static bool is_named(const struct bench_row *row, const char *item)
{
    char *end = NULL;
    return strtol(item, &end, 10) == row->number && end != item && *end == '\0';
}

bool bench_rows_exist(const struct bench_options *options, struct error *error)
{
    for (size_t i = 0; i < options->rows.count; i++) {
        bool found = false;
        for (size_t k = 0; k < bench_rows_count; k++)
            found = found || is_named(&bench_rows[k], options->rows.items[i]);
        if (!found)
            return error_fail(error, "--rows: there is no row '%s'", options->rows.items[i]);
    }
    return true;
}

bool bench_row_wanted(const struct bench_row *row, const struct bench_options *options)
{
    for (size_t i = 0; i < options->rows.count; i++) {
        if (is_named(row, options->rows.items[i]))
            return true;
    }
    return options->rows.count == 0 && (options->full || row->brief);
}
