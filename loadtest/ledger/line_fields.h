/*
 * The fields of a line of a ledger, whoever wrote it: a number that is not an integer, or not in
 * its range, or a text that is none, is an error that names the field.
 */
#ifndef SECKILL_LOADTEST_LEDGER_LINE_FIELDS_H
#define SECKILL_LOADTEST_LEDGER_LINE_FIELDS_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One that is not there is `otherwise`. */
bool line_take_number(const json_t *line, const char *name, int64_t otherwise, int64_t *out,
                      struct error *error);

/* One that may be left out, and then is 0; from 0 to `most`. */
bool line_take_count(const json_t *line, const char *name, int64_t most, int64_t *out,
                     struct error *error);

/* One that must be there, `least` or more. */
bool line_need_number(const json_t *line, const char *name, int64_t least, int64_t *out,
                      struct error *error);

/* A text, "" when it is not there. */
bool line_take_text(const json_t *line, const char *name, char *out, size_t size,
                    struct error *error);
/* A copy of at most `most` bytes, for the caller to free; NULL when it is not there, or empty. */
bool line_copy_text(const json_t *line, const char *name, size_t most, char **out,
                    struct error *error);

/* The readers of a file of lines. */
struct lines {
    size_t most; /* bytes of a line, with its end */
    bool (*head)(void *context, const json_t *line, struct error *error); /* the first */
    bool (*line)(void *context, const json_t *line, struct error *error); /* the others */
    void *context;
    bool cut; /* set: the last line is no JSON and has no end, as a run that was killed leaves it */
};

/* Line by line. Of a file that somebody has edited the first may begin with a byte order mark, and
 * others be blank. False: the error names the line. */
bool lines_read(struct lines *lines, FILE *from, struct error *error);
/* The file; NULL, with the error, when it cannot be opened. */
FILE *lines_open(const char *path, struct error *error);

#endif
