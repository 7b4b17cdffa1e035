/*
 * The document: results.json, as it was written, and the lines that its runs make up: one for each
 * strategy, body, number of instances and value that was swept, over all rounds. Whatever is
 * printed or drawn of a run has its figures from here alone, so that it can be made again from the
 * file.
 *
 * Figures are medians over the rounds that took time. Stock, sold, left and oversold are those of
 * the worst phase that sells out, so that they add up; lost updates are the worst of any phase; the
 * verdict is over all.
 */
#ifndef SECKILL_LOADTEST_REPORT_DOCUMENT_DOCUMENT_H
#define SECKILL_LOADTEST_REPORT_DOCUMENT_DOCUMENT_H

#include "base/error.h"
#include "loadtest/base/options.h"
#include "loadtest/judge/verdict.h"
#include "loadtest/load/load.h"
#include "loadtest/report/document/apart.h"

#include <jansson.h>

/* --- answers.c: the latencies of a run, one by one: the texts that latency_write has made, read
 * back; and whether those of its timeline, which the page's script reads, are such. Files of before
 * there were such texts have none, and are taken as they are --- */

/* The kinds of answers that are drawn apart: the load's, and what wrk has mixed. */
enum { ANSWERS_MIXED = LOAD_CLASSES, ANSWERS_KINDS };
const char *answers_name(int kind); /* "committed" …, as the page's style calls them too */

struct answers {
    struct latency kinds[ANSWERS_KINDS];
};

/* Adds a run's. wrk does not tell its answers apart: they are of the kind that all of them were, or
 * mixed. False when a text is none. */
bool answers_take(const json_t *run, struct answers *out);

/* Whether the timeline of a run at a given rate can be drawn; it may have none. */
bool answers_can_draw(const json_t *run);

/* --- lines --- */

/* What can go wrong with a strategy. */
enum line_class {
    LINE_SAFE, /* it promises to be right when a holder is paused and when its store forgets */
    LINE_CARE, /* it does not */
    LINE_BAD   /* it sold too much, or lost an update, in this run */
};

enum line_figure {
    LINE_REQUESTS, /* rates a second */
    LINE_COMMITTED,
    LINE_REFUSED,
    LINE_LIMITED, /* of those that were refused */
    LINE_FAILED,
    LINE_P50, /* ms */
    LINE_P90,
    LINE_P99,
    LINE_LONGEST,
    LINE_FIGURES
};

struct line {
    const char *strategy, *body; /* borrowed: the document's */
    int instances;
    int64_t value;       /* of what a sweep varied; 0 */
    const json_t *first; /* borrowed: its first run */
    size_t number;       /* among the lines, in the order of their first runs */
    size_t rounds;       /* a run with an error has no figures, and is no round */
    size_t generators;   /* nor has one of which wrk was the limit: those would be wrk's own */
    struct span figures[LINE_FIGURES]; /* without a round all 0 */
    struct apart_rounds rounds_of[LINE_FIGURES];
    double best;         /* committed/s of its strategy's best line */
    const json_t *worst; /* borrowed: the phase that sells out; NULL: there was none */
    int64_t stock, sold, left, oversold; /* its */
    int64_t lost_updates;
    /* Violations without a column, over all runs. */
    int64_t internal_errors, undersold, missing, resold, limits, others, unrepeatable;
    int64_t limited; /* refused by the limit where the speed was measured */
    enum verdict verdict;
    struct promise promise;
    enum line_class class;
    const char *error;       /* borrowed: why a phase was no run; NULL */
    struct answers *answers; /* owned: every latency of all rounds; NULL: the file does not say */
};

/* Begins as {0}, which has no runs. */
struct document {
    json_t *json;       /* owned */
    const json_t *runs; /* borrowed: its runs */
    struct line *lines; /* owned; by rate, the fastest strategy first, its lines together */
    size_t count;
    const char *over; /* borrowed: what a sweep varied; NULL: it is a run */
    double apart;     /* of a sweep: two values of one strategy differ up to this p */
};

/* Writes `json`, which it takes, to FOLDER/results.json, and reads from the same text: what is
 * printed is what the file says. False when either failed; when it was the writing, *out is there
 * all the same. */
bool document_write(const char *folder, json_t *json, struct document *out, struct error *error);
/* Takes `json`, also on failure: it is not a results.json. */
bool document_take(json_t *json, struct document *out, struct error *error);
/* FOLDER/results.json, or the file itself. */
bool document_read(const char *path, struct document *out, struct error *error);
void document_free(struct document *document);

/* Leaves the lines of these strategies alone; false when one of them has none. */
bool document_choose(struct document *document, const struct option_list *strategies,
                     struct error *error);

/* What stands behind the strategy's name: " (guarded)", or "". */
const char *line_body_text(const struct line *line);
const char *line_class_name(enum line_class class); /* as the page's style calls it */
/* How a verdict on it is coloured, and called in a table; of what is unsafe, what it did. */
enum line_class line_verdict_class(const struct line *line, enum verdict verdict);
const char *line_verdict_text(const struct line *line, enum verdict verdict);

/* The line of the same strategy, body, number of instances and value; NULL: there is none. */
const struct line *document_same(const struct document *document, const struct line *line);
/* What others are compared with: conditional's, with so many instances; NULL: there is none. */
const struct line *document_conditional(const struct document *document, int instances);
/* The strategy's first line with this value; NULL: it was interrupted before. */
const struct line *document_swept(const struct document *document, const char *strategy,
                                  int64_t value);
/* The line that a run of the document is in; NULL: it was not chosen. */
const struct line *document_line_of(const struct document *document, const json_t *run);
/* A line of one run alone, without figures. */
struct line document_line_alone(const json_t *run);
/* How a value that was swept stands to the best of its strategy. */
enum line_mark { LINE_BEST, LINE_LIKE_BEST /* no difference is shown */, LINE_LESS };
enum line_mark document_mark(const struct document *document, const struct line *line);
/* "best", "= best", or ""; of a line without figures too. */
const char *document_mark_word(const struct document *document, const struct line *line);
/* Whether there was a run at a given rate. */
bool document_has_open_loop(const struct document *document);

/* Of a run or a part of one: "" or 0 where it has none. */
const char *document_text(const json_t *object, const char *name);
int64_t document_integer(const json_t *object, const char *name);
bool document_is(const json_t *run, const char *name, const char *text);
enum verdict document_verdict(const json_t *run);

#endif
