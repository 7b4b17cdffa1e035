/*
 * The numbers of a line of a ledger, whoever wrote it: one that is not an integer, or not in its
 * range, is an error that names the field.
 */
#ifndef SECKILL_LOADTEST_LEDGER_LINE_FIELDS_H
#define SECKILL_LOADTEST_LEDGER_LINE_FIELDS_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
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

/* A line of a file that somebody has edited may begin with a byte order mark (the first one), and
 * be blank. NULL: no JSON. Owned by the caller. */
json_t *line_load(const char *text, size_t length, size_t number);
bool line_is_blank(const char *text, size_t length);

#endif
