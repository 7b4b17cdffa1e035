/* A matrix of faults for people and for programs. */
#ifndef SECKILL_LOADTEST_REPORT_MATRIX_REPORT_H
#define SECKILL_LOADTEST_REPORT_MATRIX_REPORT_H

#include "loadtest/faults/matrix.h"
#include "loadtest/fleet/machine.h"

#include <jansson.h>
#include <stdio.h>

/* For a terminal: the matrix, then what is to be said of each cell. */
void matrix_print(FILE *to, const struct matrix *matrix);

/* What it was made on, for faults.json; the caller's. NULL: out of memory. */
json_t *matrix_made_on(const struct machine *machine);

/* faults.json, its Markdown and report.html. */
bool matrix_write(const char *folder, const struct matrix *matrix, struct error *error);

/* FOLDER/faults.json, or the file itself, as it was written. *out is the caller's also on failure.
 * False: what is wrong, and in which cell. */
bool matrix_read(const char *path, struct matrix *out, struct error *error);
/* Matrices that were made in pieces, on several stacks at once or night after night, added up in
 * one: all must have been made by the same version of the server. */
bool matrix_join_read(const struct option_list *folders, struct matrix *out, struct error *error);

#endif
