/* Which cells a matrix has: from --strategies, --faults, --short, --reproduce and --expect, against
 * what the servers have. Unknown names are refused with the nearest. */
#ifndef SECKILL_LOADTEST_COMMANDS_FAULTS_FAULTS_PLAN_H
#define SECKILL_LOADTEST_COMMANDS_FAULTS_FAULTS_PLAN_H

#include "loadtest/commands/harness.h"
#include "loadtest/commands/line/command_line.h"
#include "loadtest/faults/matrix.h"

/* The matrix's cells are the caller's to free. */
bool faults_plan_make(struct matrix *out, const struct faults_options *options,
                      const struct harness *harness, struct error *error);

#endif
