/*
 * Single values of a document: texts, numbers, times. ${NAME} is the environment's, and "$${"
 * stands for "${". Mistakes are refused by place_refuse: no error repeats what the environment
 * holds, and one quotes the file only where no secret can stand (numbers, words).
 *
 * ${NAME} is written by where it stands, to stay one value: a password may have blanks, quotes, '@'
 * and '/'. What a text begins with is a piece of it, not a value in it, and stands as it is: a
 * whole URL, connection string or body from the environment.
 *
 * Texts are the document's `keeps`; *out is not touched when a value is refused. One thread.
 */
#ifndef SECKILL_LOADTEST_SHOP_VALUE_H
#define SECKILL_LOADTEST_SHOP_VALUE_H

#include "loadtest/shop/fill.h"
#include "loadtest/shop/target/document.h"

#include <stdint.h>

/* `at`: where "${" stands in `text`, which is looked at as it stands in the file. */
typedef enum fill_form standing(const char *text, const char *at);

standing standing_text;     /* as it is, everywhere */
standing standing_database; /* a conninfo, or a URL */
standing standing_path;     /* a path, or a URL */
standing standing_json;     /* in a string, or as it is */
standing standing_form;
standing standing_sql; /* in a literal, or as it is */

/* Not empty. `wanted` is said when it is no single value: "a path"; `where` says how what the
 * environment holds is written by where it stands. */
bool value_text(const struct place *place, const char *wanted, standing *where, const char **out);

/* The same of a text with fields (fill.h): what the environment holds is none. */
bool value_fields(const struct place *place, const char *wanted, standing *where, const char **out);

/* As it stands, ${…} and all: for a shell. */
bool value_raw(const struct place *place, const char *wanted, const char **out);

/* As it stands, borrowed from the document, not empty; NULL: it is refused. For words. */
const char *value_word(const struct place *place, const char *wanted);

bool value_number(const struct place *place, int64_t from, int64_t to, int64_t *out);
bool value_bool(const struct place *place, bool *out); /* true or false */

/* "50ms", "30s", "5m", up to an hour. */
bool value_duration(const struct place *place, int64_t *us);

/* A JSON pointer (RFC 6901) that is not empty: "/data/id". */
bool value_pointer(const struct place *place, const char **out);
bool value_check_pointer(const struct place *place, const char *pointer);

/* As JSON: 5001, true and null without quotes are these, anything else is a text. */
bool value_json(const struct place *place, const char **out);

#endif
