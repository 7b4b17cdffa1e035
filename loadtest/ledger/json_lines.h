/*
 * A file of JSON lines for evidence: what was put is in the kernel's hands once json_lines_flush
 * has come back, whatever becomes of this process, and a line that was not is never passed over: a
 * write that fails is remembered and reported by the next flush, and by the end.
 */
#ifndef SECKILL_LOADTEST_LEDGER_JSON_LINES_H
#define SECKILL_LOADTEST_LEDGER_JSON_LINES_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct json_lines;

/* Makes the file anew. NULL with the error when it cannot. */
struct json_lines *json_lines_create(const char *path, struct error *error);

/* Takes the line; NULL is a line for which there was no memory. */
void json_lines_put(struct json_lines *lines, json_t *line);
/* Into a line that is made. A text that is NULL or empty has nothing to say, and is left out. */
void json_lines_set_number(json_t *line, const char *name, int64_t value);
void json_lines_set_text(json_t *line, const char *name, const char *value);
/* When the file began, and by which clock its times are. */
void json_lines_set_began(json_t *line);

bool json_lines_flush(struct json_lines *lines, struct error *error);

/* Also flushes. False when something of it is not in the file. NULL is allowed. */
bool json_lines_close(struct json_lines *lines, struct error *error);

#endif
