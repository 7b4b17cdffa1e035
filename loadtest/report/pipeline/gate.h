/*
 * What lets a pipeline go on: the phases of a run against --fail-if, and both they and the verdicts
 * as JUnit's cases.
 *
 * Thresholds are for the phases that take time (speed, load), each round for itself; a phase that
 * sells out measures nothing but that. A phase that could not be made, or of which the generator
 * was the limit, has no figures: it is told, and is no pass.
 */
#ifndef SECKILL_LOADTEST_REPORT_PIPELINE_GATE_H
#define SECKILL_LOADTEST_REPORT_PIPELINE_GATE_H

#include "loadtest/phase/phase.h"
#include "loadtest/report/document/document.h"
#include "loadtest/report/pipeline/junit.h"

#include <jansson.h>

/* --fail-if and --junit, before anything is started. */
bool gate_open(struct thresholds *fail_if, struct junit *junit, const struct options *options,
               struct error *error);
/* Writes the file; `ended`: what ended the command before its time, a case of its own; NULL:
 * nothing. */
bool gate_close(struct junit *junit, const char *command, const char *ended, struct error *error);

struct gate {
    size_t judged, failed; /* phases */
    size_t unjudged;       /* phases without figures */
};

/* Judges and prints: a line for each threshold of a phase that fails it, or one that says that all
 * held. Without thresholds nothing is printed. */
void gate_print(FILE *to, const struct document *document, const struct thresholds *fail_if,
                struct gate *gate);

/* The exit status, from what the verdicts ask for: 1 when a threshold failed, 2 when one could not
 * be judged. */
int gate_exit_status(const struct gate *gate, int verdicts);

/* A case for each phase, and one for each line's verdict. */
void gate_add_cases(struct junit *junit, const struct document *document,
                    const struct thresholds *fail_if);

/* A phase's "thresholds", owned by the caller; NULL: it has none, or no figures. */
json_t *gate_json(const struct phase_result *run);

/* The same of loads that are no phases: a shop's, a run among faults. Printed, a case for each
 * threshold of one, and as JSON, which the caller owns. */
struct gate_load {
    char name[96]; /* "": there is no other */
    struct measured measured;
};
void gate_print_loads(FILE *to, const struct thresholds *thresholds, const struct gate_load *loads,
                      size_t count, struct gate *gate);
void gate_add_load(struct junit *junit, const char *group, const struct thresholds *thresholds,
                   const struct measured *measured);
json_t *gate_load_json(const struct thresholds *thresholds, const struct measured *measured);

#endif
