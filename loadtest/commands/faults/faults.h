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

/* faults_command.c: what lets a pipeline go on after a matrix of faults. A run of a cell, when it
 * counts, is judged by --fail-if. */
void faults_judge(struct gate *gate, const struct cell *cell, const struct trial_result *result);
/* A case of JUnit's for each cell, and for each column whether its control was seen to fail. */
void faults_add_cases(struct junit *junit, const struct matrix *matrix);

#endif
