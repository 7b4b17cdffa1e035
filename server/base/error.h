/*
 * Errors: a code to act on and a text to read.
 *
 * Functions that can fail return bool or an enum and take `struct error *` last (never NULL).
 * A caller that cannot handle an error prefixes it with what it was doing and passes it up; the one
 * that handles it logs it once. Business outcomes (sold out, busy) are not errors: see
 * order/order.h.
 *
 * Thread rule: a struct error belongs to the thread that fills it.
 */
#ifndef SECKILL_BASE_ERROR_H
#define SECKILL_BASE_ERROR_H

#include <stdbool.h>

enum error_code {
    ERROR_NONE = 0,
    ERROR_INVALID,     /* the caller's input: a flag, a time, a URL */
    ERROR_UNAVAILABLE, /* a backend is out of reach; nothing was done */
    ERROR_TIMEOUT,     /* the deadline passed before the answer */
    ERROR_UNSUITABLE, /* the backend answers, but cannot serve us (schema too new, Redis too old) */
    ERROR_DENIED,     /* the backend answers, and wants a right that somebody has to grant */
    ERROR_INTERNAL,   /* our bug */
    ERROR_FAILED      /* it could not be done, and only people act on why */
};

struct error {
    enum error_code code;
    char text[600];
};

/* Sets code and text; a text that is too long is cut. Always returns false, so that a bool function
 * can `return error_set(…)`. */
__attribute__((format(printf, 3, 4))) bool error_set(struct error *error, enum error_code code,
                                                     const char *format, ...);

#define error_fail(error, ...) error_set(error, ERROR_FAILED, __VA_ARGS__)

/* Puts "format…: " before the text. The outermost cause is read first. Always returns false. */
__attribute__((format(printf, 2, 3))) bool error_prefix(struct error *error, const char *format,
                                                        ...);

/* For a text that says what is wrong with `source`, which may hold a password: what it quotes of it
 * becomes "…". A single character, and a name that stands before a '=', stay. */
void error_hide_quoted(struct error *error, const char *source);

#endif
