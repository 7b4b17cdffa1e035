/* report.html of a matrix of faults: the matrix, and for each cell what was found and a timeline of
 * its sales with the fault shaded. */
#ifndef SECKILL_LOADTEST_REPORT_HTML_HTML_MATRIX_H
#define SECKILL_LOADTEST_REPORT_HTML_HTML_MATRIX_H

#include "loadtest/report/matrix_report.h"

bool html_write_matrix(const char *folder, const struct matrix *matrix, struct error *error);

#endif
