/*
 * What a run or a sweep found, read back from its results.json: a line for each strategy, number of
 * instances and value that was swept, over all rounds. The page and the pictures have their figures
 * from here alone, so that they can be made again from the file.
 */
#ifndef SECKILL_LOADTEST_REPORT_FOUND_FOUND_H
#define SECKILL_LOADTEST_REPORT_FOUND_FOUND_H

#include "base/error.h"
#include "loadtest/base/options.h"
#include "loadtest/judge/verdict.h"
#include "loadtest/report/found/answers.h"
#include "loadtest/report/found/apart.h"
#include "loadtest/report/table.h"

#include <jansson.h>

/* What can go wrong with a strategy. */
enum found_class {
    FOUND_SAFE, /* it promises to be right when a holder is paused and when its store forgets */
    FOUND_CARE, /* it does not */
    FOUND_BAD   /* it sold too much, or lost an update, in this run */
};

struct found_line {
    const char *strategy, *body; /* borrowed: the document's */
    int instances;
    int64_t value; /* of what a sweep varied; 0 */
    size_t rounds; /* that took time; without one the spans are 0 */
    struct span committed_per_s, p50_ms, p90_ms, p99_ms, max_ms;
    struct apart_rounds committed_rounds, p99_rounds;
    bool sold_out; /* there was a phase with a limited stock: the worst one's figures */
    int64_t stock, sold, oversold;
    int64_t lost_updates; /* the worst of any phase */
    enum verdict verdict;
    enum found_class class;
    const char *error;       /* borrowed: why a phase was no run; NULL */
    struct answers *answers; /* owned: every latency of all rounds; NULL: the file does not say */
};

struct found {
    json_t *document;         /* owned */
    struct found_line *lines; /* owned; by rate, the fastest strategy first, its lines together */
    size_t count;
    const char *over; /* borrowed: what a sweep varied; NULL: it is a run */
    double apart;     /* of a sweep: two values of one strategy differ up to this p */
};

/* Takes the document, also on failure: it is not a results.json. */
bool found_take(json_t *document, struct found *out, struct error *error);
/* FOLDER/results.json, or the file itself. */
bool found_read(const char *path, struct found *out, struct error *error);
void found_free(struct found *found);

/* Leaves the lines of these strategies alone; false when one of them has none. */
bool found_choose(struct found *found, const struct option_list *strategies, struct error *error);

/* What stands behind the strategy's name: " (guarded)", or "". */
const char *found_body_text(const struct found_line *line);

/* The line of the same strategy, body, number of instances and value; NULL: there is none. */
const struct found_line *found_same(const struct found *found, const struct found_line *line);
/* The line that a run of the document is in; NULL: it was not chosen. */
const struct found_line *found_of(const struct found *found, const json_t *run);
/* Whether there was a run at a given rate. */
bool found_has_open_loop(const struct found *found);
/* Whether the line is the first of its strategy and body: the others follow it. */
bool found_begins(const struct found *found, size_t line);

const char *found_class_name(enum found_class class); /* as the page's style calls it */

#endif
