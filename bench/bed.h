/*
 * What every measurement is made of: the servers and the points of reference, products that nobody
 * has sold, and the database.
 */
#ifndef SECKILL_BENCH_BED_H
#define SECKILL_BENCH_BED_H

#include "bench/judge.h"
#include "bench/tools/nginx.h"
#include "loadtest/commands/harness.h"
#include "loadtest/faults/way.h"

#include <libpq-fe.h>

struct bench {
    const struct bench_options *options; /* borrowed; harness.options is their base */
    struct harness harness;
    PGconn *database;        /* owned: for what is done there beside the sales */
    char pgbench[300];       /* "": not installed */
    struct instance ceiling; /* seckill-bench-server; no process: not built */
    struct nginx nginx;      /* no process: not installed */
    int instances;           /* that run now */
    int flush_ms;            /* that flushes are held back by the role's settings */
    struct way link;         /* from the standby to PostgreSQL; no relay: there is no standby */
    bool alone;              /* by the role's settings commits do not wait for it */
    int64_t crowd_product;   /* has the ten million rows; 0: there are none */
    int64_t next_product;    /* every measurement has products that were never sold */
    bool log_files;          /* were made before the first measurement */
    bool orders_grew;        /* the table was not emptied before each */
    double load_average;     /* of the machine's last minute, before the first measurement */
    int64_t begun_ms;        /* monotonic */
    int64_t waited_ms;       /* for a host that took the cores away */
    int round;
    struct bench_series series[BENCH_MEASURES];
};

struct bench_series *bench_series_of(struct bench *bench, const struct bench_measure *measure);
/* There are no figures, because something is not there, which is no fault. */
void bench_leave_out(struct bench_series *series, const char *why);
void bench_say(const struct bench *bench, const char *text);

/* Any statement, in which "{schema}" is the tables': one that empties tables, switches log files or
 * asks for a checkpoint, none of which is in what is installed. `out`, where it has a size, gets
 * the first field of its first row, or "". */
bool bench_ask(const struct bench *bench, const char *sql, char *out, size_t size,
               struct error *error);
/* What it answers is of no interest. */
bool bench_order(const struct bench *bench, const char *sql, struct error *error);

/* What a commit waits for, as the measurement wants it, or with NULL as it was: by settings of the
 * role's, which sessions have from their beginning, so that the servers are stopped where they
 * change. False when the role may not. */
bool bench_set_commits(struct bench *bench, const struct bench_measure *measure,
                       struct error *error);
/* Has --standby start a standby for which commits wait, and whose way to PostgreSQL leads through a
 * relay. */
bool bench_start_standby(struct bench *bench, struct error *error);

/* As many instances as the measurement asks for, and no other: one beside would take part in
 * consuming what redis-stock has queued. */
bool bench_use_instances(struct bench *bench, int count, struct error *error);

/* seckill-bench-server beside the server that is measured; its log goes below `name` in the out
 * folder. It is given PostgreSQL alone: with a Redis it would take part in consuming what
 * redis-stock has queued. */
bool bench_start_ceiling(const struct bench *bench, struct instance *server, const char *name,
                         struct error *error);
bool bench_has_ceiling(const struct bench *bench);

/* Products nobody has sold yet, `count` of them on sale, with stock that cannot run out. */
bool bench_new_products(struct bench *bench, int64_t count, int64_t *first, struct error *error);

/* A load over HTTP on products nobody has sold yet. False when the strategy is not available, which
 * the series then says. */
bool bench_plan(struct bench *bench, const struct bench_measure *measure, struct phase_plan *plan);
/* What --connections and --threads or the measurement's own say, made to fit wrk. */
void bench_shape(const struct bench *bench, const struct bench_measure *measure,
                 int64_t *connections, int64_t *threads);

/* Lets this process and its children have so many connections; where they may not, the measurement
 * is left out. */
bool bench_allow(struct bench_series *series, int count);

#endif
