/*
 * Header fields that the user adds to each order (`run --header`): what is typed is checked, once
 * and before anything is started, and becomes lines that a request takes as they are. Fields that
 * the harness sets itself, and those that would change how a request or its answer is framed, are
 * refused (RFC 9110, 5.1 and 5.5, says what a name and a value may have in them).
 */
#ifndef SECKILL_LOADTEST_BASE_HEADERS_H
#define SECKILL_LOADTEST_BASE_HEADERS_H

#include "base/options/option_rows.h"

/* Of all lines together, with their ends and the NUL. */
enum { HEADERS_SIZE = 2048 };

/* "Name: value\r\n" for each text, in their order. False with a text that names --header and the
 * field; a value is not repeated, it may be a secret. */
bool headers_read(const struct option_texts *texts, char out[HEADERS_SIZE], struct error *error);

/* Whether `lines` (of headers_read) have this field, however it is spelt. */
bool headers_have(const char *lines, const char *name);

/* The names alone, "Name, Name", for a report: values may be secret. */
void headers_names(const char *lines, char *out, size_t size);

#endif
