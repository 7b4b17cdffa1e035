/* The folder that a command's files go to, and the files. */
#ifndef SECKILL_LOADTEST_REPORT_FILES_H
#define SECKILL_LOADTEST_REPORT_FILES_H

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* How JSON is written everywhere: what is read and written again is the same text. */
#define FILES_JSON (JSON_INDENT(1) | JSON_REAL_PRECISION(10))

/* Makes `wanted`, or with "" a folder named after the time under results/. `out` gets its path;
 * *made: it was not there before. */
bool files_make_folder(const char *wanted, char *out, size_t size, bool *made, struct error *error);

/* NULL with the error when it cannot be made. Closing is false when not all was written. */
FILE *files_create(const char *folder, const char *name, struct error *error);
bool files_close(FILE *file, const char *name, struct error *error);

/* Writes `json`, which it takes, to a file in the folder; NULL is no memory. */
bool files_write_json(const char *folder, const char *name, json_t *json, struct error *error);

/* Reads the file at `path`, or where that is a folder, the file `name` in it; `file` gets its path.
 * NULL with the error. */
enum { FILES_PATH_MAX = 1200 };
json_t *files_read_json(const char *path, const char *name, char file[FILES_PATH_MAX],
                        struct error *error);

/* Copies a file of the folder to a stream. */
bool files_copy(const char *folder, const char *name, FILE *to, struct error *error);

/*
 * csv.c: CSV from JSON: a file's columns are members of the rows' objects, so that both forms of a
 * result have their figures from one place. `rows` is an array of objects.
 *
 * `columns` has their names with commas between; the member of a member has both names, joined by
 * '_'. Behind a name may stand ':' and the number of decimals, or ":q" for a text in quotes. What a
 * row does not have is empty; a list has spaces between its items.
 */
bool files_write_csv(const char *folder, const char *name, const char *columns, const json_t *rows,
                     struct error *error);

#endif
