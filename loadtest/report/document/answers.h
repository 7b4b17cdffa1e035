/*
 * The latencies of a run in results.json, one by one: the texts that latency_write has made, read
 * back; and whether those of its timeline, which the page's script reads, are such. Files of before
 * there were such texts have none, and are taken as they are.
 */
#ifndef SECKILL_LOADTEST_REPORT_FOUND_ANSWERS_H
#define SECKILL_LOADTEST_REPORT_FOUND_ANSWERS_H

#include "loadtest/load/detail.h"

#include <jansson.h>

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

#endif
