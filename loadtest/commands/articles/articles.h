/*
 * The articles' own experiments: what `run --scenario articles` repeats. An experiment is a list of
 * calls and the settings of the servers; a row of it is one strategy with so many instances.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_ARTICLES_H
#define SECKILL_LOADTEST_COMMANDS_ARTICLES_H

#include "loadtest/commands/harness.h"
#include "loadtest/report/results.h"

#include <stdio.h>

enum article_kind {
    ARTICLE_COUNTER,   /* restocks by one, from 0 */
    ARTICLE_SPREAD,    /* each buyer one unit of a product that the seed draws */
    ARTICLE_PAIRS,     /* 60 and 50 units of each product at once */
    ARTICLE_THRESHOLD, /* more buyers at once than the queue holds */
    ARTICLE_TIMED,     /* two products; the second one's buyers wait 5 s at most */
    ARTICLE_TURNS      /* one product with plenty; how often each order was tried */
};

struct article_row {
    const char *strategy;
    int instances;
    const char *did;
    const char *published; /* "": no figure */
    bool sheds;            /* some buyers must get 503, or nothing was shown */
};

struct article_experiment {
    const char *article;
    const char *name;
    const char *title;
    enum article_kind kind;
    int64_t calls;
    int64_t connections;
    int64_t products;
    int64_t stock;          /* of each */
    int64_t work_ms;        /* -1: the server's own */
    int64_t queue_capacity; /* 0: the server's own */
    int64_t in_flight;      /* of a product in an instance; 0: the strategy's own */
    const struct article_row *rows;
    size_t rows_count;
};

extern const struct article_experiment article_experiments[];
extern const size_t article_experiments_count;

/* Allocates the calls of an experiment; the caller frees counted->calls. */
void article_make_calls(const struct article_experiment *experiment, const struct options *options,
                        struct counted *counted);

/* One row on the fleet that is open; `ours`: what came of it, in words for the table. As phase_run:
 * false when there is no going on. */
enum { ARTICLE_OURS_SIZE = 120 };
bool article_measure(struct harness *harness, const struct article_experiment *experiment,
                     const struct article_row *row, struct phase_result *result,
                     char ours[ARTICLE_OURS_SIZE], struct error *error);

/* All of them, each on servers of its own. False when something ended them early. */
bool articles_run(struct harness *harness, struct error *error);

/* The table, article by article. Fills the tally of its verdicts. */
void articles_print(FILE *to, const struct document *document, struct verdict_tally *tally);

#endif
