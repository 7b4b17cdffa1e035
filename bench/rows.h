/*
 * The measurements and the rows, as data. A row is a ratio of two figures, or one figure, with what
 * it must reach ("at least") and what is aimed for. A figure belongs to a measurement, and a
 * measurement is made once a round however many rows use it: the ceiling E, and the hot figure of
 * `batch`, stand in many. docs/PERFORMANCE.md says what each row is about.
 */
#ifndef SECKILL_BENCH_ROWS_H
#define SECKILL_BENCH_ROWS_H

#include "bench/flags.h"

enum { BENCH_CLIENT_COUNTS = 5, BENCH_ROWS_MAX = 96 };

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

enum bench_measure_id {
    MEASURE_NONE,
#define MEASURE(id, ...) MEASURE_##id,
#include "bench/measures.def"
#undef MEASURE
    BENCH_MEASURES
};

enum bench_kind {
    BENCH_CEILING, /* seckill-bench-server, which answers and sells nothing */
    BENCH_NGINX,
    BENCH_HTTP,
    BENCH_PGBENCH,
    BENCH_OVERLOAD,
    BENCH_IDLE,
    BENCH_LONG
};

struct bench_measure {
    const char *name;
    enum bench_kind kind;
    const char *strategy;
    int connections;   /* 0: --connections */
    int threads;       /* 0: --threads */
    int instances;     /* 0: 1 */
    int products;      /* 0: 1 */
    int times;         /* an overload: of the peak */
    int flush_ms;      /* that each flush of PostgreSQL's is held back; 0: not */
    const char *flush; /* who flushes: "own", "shared"; NULL: the strategy's default */
    bool waits;        /* for a synchronous standby, */
    int link_ms;       /* which is so much farther away than it is, there and back */
    bool sold_out;
    bool last; /* not before the others have been made in every round */
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
    bool apart; /* when it is named alone: it brings a standby, which others would feel */
};

extern const struct bench_measure bench_measures[BENCH_MEASURES];
extern const struct bench_row bench_rows[];
extern const size_t bench_rows_count;
extern const int bench_client_counts[2][BENCH_CLIENT_COUNTS]; /* for one product; for many */

/* Whatever --rows names is there. */
bool bench_rows_exist(const struct bench_options *options, struct error *error);
/* Asked for: by --rows, or by the form. */
bool bench_row_wanted(const struct bench_row *row, const struct bench_options *options);

#endif
