/*
 * What a search for the capacity has found: the lines for people, capacity.csv, results.json (a
 * sweep over the rate, so that report.html draws the curve) and report.html.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_CAPACITY_CAPACITY_FILES_H
#define SECKILL_LOADTEST_COMMANDS_CAPACITY_CAPACITY_FILES_H

#include "loadtest/commands/capacity/capacity_options.h"
#include "loadtest/commands/capacity/capacity_search.h"
#include "loadtest/commands/harness.h"

/* Borrowed, all of it. */
struct capacity_found {
    const struct harness *harness;
    const struct results *results; /* each with its rate in the plan */
    const struct thresholds *slo;
    const struct capacity_search *search;
    const struct document *document; /* for the print: what was written */
    const struct capacity_options *options;
};

/* Whether a run held: it was made, and each condition is met. Else `why` says what did not. */
bool capacity_holds(const struct phase_result *run, const struct thresholds *slo, char *why,
                    size_t size);

void capacity_print(FILE *to, const struct capacity_found *found);
/* As document_write: *out is there also when something could not be written. */
bool capacity_write(const struct capacity_found *found, struct document *out, struct error *error);

#endif
