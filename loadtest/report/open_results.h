/* What the open-loop generator found, for people and for files: a line for each part of the
 * schedule and each class of answers in it. */
#ifndef SECKILL_LOADTEST_REPORT_OPEN_RESULTS_H
#define SECKILL_LOADTEST_REPORT_OPEN_RESULTS_H

#include "loadtest/phase/phase.h"
#include "loadtest/report/document/document.h"

#include <jansson.h>
#include <stdio.h>

/* Medians over the rounds, of the phases that take time; nothing where no run had a rate.
 * `wide`: with p90 and the maximum. */
void open_results_print(FILE *to, const struct document *document, bool wide);

/* arrivals.csv. Nothing is written where no run had a rate. */
bool open_results_write_csv(const char *folder, const struct document *document,
                            struct error *error);

/* The run's "open_loop" member; owned by the caller. */
json_t *open_results_json(const struct phase_result *run);

/* A histogram as a text of its steps (latency_write); owned by the caller. */
json_t *open_results_steps(const struct latency *latency);

#endif
