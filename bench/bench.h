/*
 * The bench: how close the server comes to what the machine can do.
 *
 * A row is a ratio of two figures, or one figure, with what it must reach ("at least") and what is
 * aimed for. A figure belongs to a measurement, and a measurement is made once a round however many
 * rows use it: the ceiling E, and the hot figure of `batch`, stand in many. The rows and the
 * measurements are tables (rows.c); each kind of measurement is one function (take.c
 * and the files beside it); what follows from the figures is arithmetic alone (judge.c).
 */
#ifndef SECKILL_BENCH_BENCH_H
#define SECKILL_BENCH_BENCH_H

#include "bench/nginx.h"
#include "bench/options.h"
#include "loadtest/commands/session.h"
#include "loadtest/load/usage.h"
#include "loadtest/report/table.h"

enum { BENCH_ROUNDS_MAX = 200, BENCH_CLIENT_COUNTS = 5, BENCH_ROWS_MAX = 64 };

enum bench_figure {
    FIGURE_RATE,      /* answers of the kind asked for, a second: 201, 202, or the refusals */
    FIGURE_COMMITTED, /* orders in PostgreSQL a second, until the last one is decided */
    FIGURE_P50_MS,
    FIGURE_P99_MS,
    FIGURE_CPU_US,     /* of the servers' own, for each answer */
    FIGURE_KIB,        /* resident memory of an open idle connection */
    FIGURE_SHARE,      /* a part of another figure of the same measurement */
    FIGURE_OVERLOADED, /* committed a second when a multiple of FIGURE_RATE is offered */
    BENCH_FIGURES
};
const char *bench_figure_name(enum bench_figure figure);

/* How much of the cores' time the host took, against --max-steal. A core that is taken away for ten
 * milliseconds hardly changes a rate, but every order in flight then waits so much longer: where
 * that happens for a hundredth of the time, a p99 is the host's. */
enum bench_steal {
    BENCH_CALM,  /* at most a tenth of it */
    BENCH_TAKEN, /* too much for a p99 */
    BENCH_ROBBED /* more than it: too much for anything */
};

/* One measurement of one round. */
struct bench_sample {
    int round;
    double figures[BENCH_FIGURES]; /* 0: it has none of that kind */
    enum usage_limit limit;
    double stolen; /* share of the cores' time that the host took meanwhile */
    enum bench_steal steal;
    bool late; /* the generator was, and for no other reason there are no figures */
    int takes; /* how often it was made; this is the calmest */
};

struct bench_series {
    bool wanted;
    char why[700]; /* why there are no figures; "" */
    bool absent;   /* with `why`: something is not installed or not there, which is no fault */
    double trial[BENCH_CLIENT_COUNTS]; /* pgbench's orders/s at each client count, tried first */
    int clients;                       /* pgbench's best */
    char note[200];                    /* what a reader of the figures should know; "" */
    struct bench_sample samples[BENCH_ROUNDS_MAX];
    size_t count;
    int64_t took_ms; /* all of them, with what making them needs besides */
    bool again;      /* to be made in the next of --more-rounds */
    bool again_calm; /* and for a p99 */
};

struct bench;

struct bench_measure {
    const char *name;
    /* False ends everything; what concerns this measurement alone goes into its series' `why`. */
    bool (*take)(struct bench *bench, const struct bench_measure *measure,
                 struct bench_sample *sample, struct error *error);
    const char *strategy;
    int connections; /* 0: --connections */
    int threads;     /* 0: --threads */
    int instances;   /* 0: 1 */
    int products;    /* 0: 1 */
    int times;       /* an overload: of the peak */
    bool sold_out;
    bool last; /* not before the others have been made in every round */
};

enum bench_measure_id {
    MEASURE_NONE,
    MEASURE_NGINX,
    MEASURE_E,
    MEASURE_BATCH,
    MEASURE_STOCK,
    MEASURE_STOCK_REFUSALS,
    MEASURE_BATCH_REFUSALS,
    MEASURE_QUEUE,
    MEASURE_QUEUE_3,
    MEASURE_BATCH_SPREAD,
    MEASURE_PESSIMISTIC,
    MEASURE_PGBENCH_PESSIMISTIC,
    MEASURE_TOKEN,
    MEASURE_OPTIMISTIC,
    MEASURE_PGBENCH_OPTIMISTIC,
    MEASURE_CONDITIONAL,
    MEASURE_PGBENCH_CONDITIONAL,
    MEASURE_PESSIMISTIC_SPREAD,
    MEASURE_PGBENCH_PESSIMISTIC_SPREAD,
    MEASURE_OPTIMISTIC_SPREAD,
    MEASURE_PGBENCH_OPTIMISTIC_SPREAD,
    MEASURE_CONDITIONAL_SPREAD,
    MEASURE_PGBENCH_CONDITIONAL_SPREAD,
    MEASURE_BATCH_C1,
    MEASURE_CONDITIONAL_C1,
    MEASURE_BATCH_C1000,
    MEASURE_BATCH_C4000,
    MEASURE_STOCK_C1000,
    MEASURE_STOCK_C4000,
    MEASURE_BATCH_C128,
    MEASURE_BATCH_C129,
    MEASURE_BATCH_C256,
    MEASURE_BATCH_C257,
    MEASURE_BATCH_C384,
    MEASURE_BATCH_C385,
    MEASURE_BATCH_C1024,
    MEASURE_BATCH_C1025,
    MEASURE_CONDITIONAL_TWICE,
    MEASURE_CONDITIONAL_TENFOLD,
    MEASURE_PESSIMISTIC_TWICE,
    MEASURE_PESSIMISTIC_TENFOLD,
    MEASURE_IDLE,
    MEASURE_LONG,
    BENCH_MEASURES
};

struct bench_side {
    enum bench_measure_id measure;
    enum bench_figure figure;
};

struct bench_row {
    int number; /* of the table in docs/PERFORMANCE.md */
    const char *what;
    struct bench_side of, against; /* `against` NONE: the figure itself is what counts */
    double bound;                  /* "at least", or with `most` "at most"; 0: no target */
    double aim;                    /* 0: none */
    bool most;
    bool brief; /* in the short form */
};

extern const struct bench_measure bench_measures[BENCH_MEASURES];
extern const struct bench_row bench_rows[];
extern const size_t bench_rows_count;
extern const int bench_client_counts[2][BENCH_CLIENT_COUNTS]; /* for one product; for many */

/* Whatever --rows names is there. */
bool bench_rows_exist(const struct bench_options *options, struct error *error);
/* Asked for: by --rows, or by the form. */
bool bench_row_wanted(const struct bench_row *row, const struct bench_options *options);

/* --- what follows from the figures --- */

/* As span_of, and leaves the values as they are. */
struct span bench_span(const double *values, size_t count);

enum bench_verdict {
    BENCH_MET,
    BENCH_MISSED,
    BENCH_TOLD,      /* there is no target */
    BENCH_GENERATOR, /* the generator was the limit: no figure is given */
    BENCH_FAILED,    /* could not be measured */
    BENCH_ABSENT     /* what it needs is not there */
};
const char *bench_verdict_name(enum bench_verdict verdict);

struct bench_judgement {
    enum bench_verdict verdict;
    struct span of, against;
    double ratio;              /* of the medians */
    double least, most;        /* the rounds' own ratios */
    size_t rounds;             /* that both sides have and that count */
    size_t left_out;           /* rounds that do not count: steal, and enough others are left */
    bool with_steal;           /* such rounds count, because too few others are left */
    bool same;                 /* the two sides' spreads overlap */
    bool unsure;               /* some rounds reach the bound and some do not */
    enum usage_limit limit[2]; /* of most rounds: `of`, `against` */
    const char *why;           /* borrowed: the series; "" */
};
void bench_judge(const struct bench_row *row, const struct bench_series *series,
                 struct bench_judgement *out);

enum bench_steal bench_steal_grade(double stolen, int64_t max_steal);
/* The most that a round may have and count: for a p99, for anything else. */
enum bench_steal bench_steal_allowed(bool p99);
/* Notes the share that the host took of the sample's time. Where it took so much, that the
 * generator was late says nothing against the measurement: the series goes on without the round. */
void bench_mark_stolen(struct bench_series *series, struct bench_sample *sample, double stolen,
                       int64_t max_steal);

/* Marks what is to be made again: that of which rows are made that are within noise, or have fewer
 * than `rounds` rounds without too much steal; row by row, as far as it can be made until
 * `until_ms`. False when that is nothing. */
bool bench_choose_again(const struct bench_row *const *rows, size_t count,
                        struct bench_series *series, int64_t rounds, int64_t now_ms,
                        int64_t until_ms);

/* 1 when a row is missed, else 2 when one could not be measured, else 0. */
int bench_exit_status(const struct bench_judgement *judgements, size_t count);

/* --- making it --- */

struct bench {
    const struct bench_options *options; /* borrowed; session.options is their base */
    struct session session;
    char pgbench[300];       /* "": not installed */
    struct instance ceiling; /* seckill-bench-server; no process: not built */
    struct nginx nginx;      /* no process: not installed */
    int instances;           /* that run now */
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

/* What measurements are made of; take.c. */
bool bench_take_ceiling(struct bench *bench, const struct bench_measure *measure,
                        struct bench_sample *sample, struct error *error);
bool bench_take_nginx(struct bench *bench, const struct bench_measure *measure,
                      struct bench_sample *sample, struct error *error);
bool bench_take_http(struct bench *bench, const struct bench_measure *measure,
                     struct bench_sample *sample, struct error *error);
bool bench_take_pgbench(struct bench *bench, const struct bench_measure *measure,
                        struct bench_sample *sample, struct error *error);
bool bench_take_idle(struct bench *bench, const struct bench_measure *measure,
                     struct bench_sample *sample, struct error *error);
bool bench_take_long(struct bench *bench, const struct bench_measure *measure,
                     struct bench_sample *sample, struct error *error);
bool bench_take_overload(struct bench *bench, const struct bench_measure *measure,
                         struct bench_sample *sample, struct error *error);

/* What bench_take_long has put into the database goes again. */
bool bench_clean_long(struct bench *bench, struct error *error);

/* Lets this process and its children have so many connections; false when they may not. */
bool bench_allow_descriptors(int count);
/* The same for one measurement, which is left out when they may not. */
bool bench_allow_measure(struct bench_series *series, int count);

/* seckill-bench-server beside the server that is measured; its log goes below `name` in the out
 * folder. It is given PostgreSQL alone: with a Redis it would take part in consuming what
 * redis-stock has queued. */
bool bench_start_ceiling(struct bench *bench, struct instance *server, const char *name,
                         struct error *error);

/* Finds pgbench's best client count. */
bool bench_try_clients(struct bench *bench, const struct bench_measure *measure,
                       struct error *error);

struct bench_series *bench_series_of(struct bench *bench, const struct bench_measure *measure);
void bench_say(const struct bench *bench, const char *text);
/* As many instances as the measurement asks for, and no other: one beside would take part in
 * consuming what redis-stock has queued. */
bool bench_use_instances(struct bench *bench, int count, struct error *error);
/* Products nobody has sold yet, `count` of them on sale, with stock that cannot run out. */
bool bench_new_products(struct bench *bench, int64_t count, int64_t *first, struct error *error);
/* A load over HTTP on products nobody has sold yet. False when the strategy is not available, which
 * the series then says. */
bool bench_plan(struct bench *bench, const struct bench_measure *measure, struct phase_plan *plan);
/* What --connections and --threads or the measurement's own say, made to fit wrk. */
void bench_shape(const struct bench *bench, const struct bench_measure *measure,
                 int64_t *connections, int64_t *threads);

/* --- telling it --- */

/* All of it: measures, prints, writes the files. The program's exit status. */
int bench_command(const struct bench_options *options);

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
