/* A cell of the matrix by hand: of the column `stall`, with runs that ended as a test wants them.
 */
#ifndef SECKILL_TESTS_HARNESS_FAULTS_HAND_CELL_H
#define SECKILL_TESTS_HARNESS_FAULTS_HAND_CELL_H

#include "loadtest/faults/matrix.h"

struct cell hand_cell(enum cell_expectation expected, size_t clean, size_t red, size_t invalid);

#endif
