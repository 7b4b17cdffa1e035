/* A matrix of faults for people and for programs. */
#ifndef SECKILL_LOADTEST_REPORT_MATRIX_REPORT_H
#define SECKILL_LOADTEST_REPORT_MATRIX_REPORT_H

#include "loadtest/faults/matrix.h"

#include <stdio.h>

/* For a terminal: the matrix, then what is to be said of each cell. */
void matrix_print(FILE *to, const struct matrix *matrix);
/* The same in Markdown. */
void matrix_print_markdown(FILE *to, const struct matrix *matrix);

/* The matrix alone, as a table. */
void matrix_print_html(FILE *to, const struct matrix *matrix);

/* faults.json, faults.md. */
bool matrix_write(const char *folder, const struct matrix *matrix, struct error *error);

#endif
