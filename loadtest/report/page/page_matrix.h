/* report.html of a matrix of faults: the matrix, and drawn by the script what was found in each
 * cell, with a timeline of its sales and the fault shaded. */
#ifndef SECKILL_LOADTEST_REPORT_PAGE_PAGE_MATRIX_H
#define SECKILL_LOADTEST_REPORT_PAGE_PAGE_MATRIX_H

#include "loadtest/faults/matrix.h"

#include <jansson.h>

/* `made` is its faults.json, and is taken. */
bool page_write_matrix(const char *folder, const struct matrix *matrix, json_t *made,
                       struct error *error);

#endif
