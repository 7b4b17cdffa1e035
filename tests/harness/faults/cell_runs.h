/* A cell of the matrix by hand: of the column `stall`, with runs that ended as a test wants them.
 */
#ifndef SECKILL_TESTS_HARNESS_FAULTS_CELL_RUNS_H
#define SECKILL_TESTS_HARNESS_FAULTS_CELL_RUNS_H

#include "loadtest/faults/matrix.h"

struct cell cell_runs(enum cell_expectation expected, size_t clean, size_t red, size_t invalid);

#endif
