/*
 * From samples to a verdict: arithmetic alone, in which no row is named.
 *
 * A ratio is that of the medians. Each round has a ratio of its own too, of two figures that were
 * taken close to each other; where some of those reach the bound and some do not, the verdict is
 * within noise, and such a row is measured again, whichever side of the bound its medians are on:
 * to measure again only the rows that missed would be biased towards "met". A round in which the
 * host took the cores away is left out where enough others are left, whatever its figures were, and
 * is measured again where they are not. Where the generator was at its limit and the server was
 * not, in most rounds of either side, the figure is the generator's, and no ratio is given.
 */
#ifndef SECKILL_BENCH_JUDGE_H
#define SECKILL_BENCH_JUDGE_H

#include "bench/rows.h"
#include "loadtest/load/usage.h"
#include "loadtest/report/document/apart.h"

enum { BENCH_ROUNDS_MAX = 200 };

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

#endif
