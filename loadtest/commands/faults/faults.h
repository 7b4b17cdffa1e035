/* The parts of `faults`. Private to this room. */
#ifndef SECKILL_LOADTEST_COMMANDS_FAULTS_FAULTS_H
#define SECKILL_LOADTEST_COMMANDS_FAULTS_FAULTS_H

#include "loadtest/commands/harness.h"
#include "loadtest/commands/line/command_line.h"
#include "loadtest/faults/matrix.h"
#include "loadtest/report/pipeline/gate.h"

/* faults_plan.c: which cells a matrix has: from --strategies, --faults, --short, --reproduce and
 * --expect, against what the servers have. Unknown names are refused with the nearest. The matrix's
 * cells are the caller's to free. */
bool faults_plan_make(struct matrix *out, const struct faults_options *options,
                      const struct harness *harness, struct error *error);

/* faults_gate.c: what lets a pipeline go on after a matrix of faults: each run that counts against
 * --fail-if, and the cells, the columns' controls and the thresholds as JUnit's cases. Begins as
 * {0}. */
struct faults_gate {
    struct thresholds fail_if;
    struct junit junit;     /* owned */
    struct gate_load *runs; /* owned */
    size_t count;
};

/* A run of a cell, when it counts. False: out of memory. */
bool faults_gate_add(struct faults_gate *gate, const struct cell *cell,
                     const struct trial_result *result, struct error *error);

/* The exit status, from what the matrix asks for. */
int faults_gate_print(const struct faults_gate *gate, FILE *to, int status);

/* Adds the cases of a matrix. */
void faults_gate_add_cases(struct faults_gate *gate, const struct matrix *matrix);
/* Writes the file, as gate_close, and frees everything. */
bool faults_gate_close(struct faults_gate *gate, const char *ended, struct error *error);

#endif
