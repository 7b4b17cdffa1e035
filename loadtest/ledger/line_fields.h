/*
 * The fields of a line of a ledger, whoever wrote it: a number that is not an integer, or not in
 * its range, or a text that is none, is an error that names the field.
 */
#ifndef SECKILL_LOADTEST_LEDGER_LINE_FIELDS_H
#define SECKILL_LOADTEST_LEDGER_LINE_FIELDS_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
