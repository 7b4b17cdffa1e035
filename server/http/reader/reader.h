/*
 * Readers: from bytes a client sent to values, or to a problem that names what is wrong with them.
 *
 * Strict on purpose: what is not known, repeated, out of range or of another type is refused, never
 * guessed. Nothing here knows libmicrohttpd, so all of it is tested without a socket.
 */
#ifndef SECKILL_HTTP_READER_READER_H
#define SECKILL_HTTP_READER_READER_H

#include "http/reader/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal number within [min, max]: digits alone, no sign, no leading zero. */
bool reader_integer(const char *text, int64_t min, int64_t max, int64_t *out);

/* One parameter that a query may hold. The caller sets the first group, reader_query the second. */
struct param {
    const char *name;
    bool integer; /* else text */
    int64_t min;
    int64_t max;

    bool given;
    int64_t number;
    const char *text; /* points into the query */
};

/* Reads the text after '?' (NULL: there was none), decoding it in place. */
bool reader_query(char *query, struct param *params, size_t count, struct problem *problem);

enum member_type { MEMBER_INTEGER, MEMBER_TEXT, MEMBER_TIME };

/* One member that a JSON object may hold. The caller sets the first group, reader_object the
 * second. */
struct member {
    const char *name;
    enum member_type type;
    bool required;
    bool nullable; /* null is as good as absent */
    bool is_id; /* a string of its digits is as good as the number: 2^53 and more in JavaScript */
    int64_t min;
    int64_t max;
    char *text;        /* where a MEMBER_TEXT goes: room for 4 * text_chars + 1 bytes */
    size_t text_chars; /* the longest, in characters of UTF-8 */

    bool given;
    bool is_null;   /* null where that is allowed: not given, and not absent */
    int64_t number; /* a MEMBER_TIME as wall-clock microseconds */
};

/* Reads one JSON object and nothing else. */
bool reader_object(const char *body, size_t length, struct member *members, size_t count,
                   struct problem *problem);

/* A Content-Length of so many digits always fits an int64_t. */
enum { READER_LENGTH_DIGITS = 18 };

/* What the edge wants to know of a request's header fields. Pointers are borrowed: the request's
 * memory. */
struct headers {
    unsigned hosts;
    unsigned origins;
    unsigned lengths;
    unsigned encodings;
    unsigned keys;
    unsigned matches;    /* If-Match */
    unsigned conditions; /* other ones that a write may depend on */
    unsigned authorizations;
    bool forwarded;  /* a proxy's, a CDN's or a browser's mark: it came through somebody else */
    bool encoded;    /* the body is compressed, or the like */
    bool bad_field;  /* a name that is no token, or a control character in a value */
    bool bad_length; /* a Content-Length that is not a decimal number */
    int64_t content_length;
    const char *host;
    size_t host_length;
    const char *origin;
    size_t origin_length;
    const char *key;
    size_t key_length;
    const char *match;
    size_t match_length;
    const char *authorization;
    size_t authorization_length;
};

void reader_header(struct headers *headers, const char *name, size_t name_length, const char *value,
                   size_t value_length);

/* 400 invalid_header when the method is no token, or the target has a character that none has: a
 * control character or a space. */
bool reader_line(const char *method, const char *target, struct problem *problem);

/* 400 invalid_header when a field is malformed, or two readers of this request could disagree where
 * its body ends; 411 when it has a transfer coding. */
bool reader_framing(const struct headers *headers, struct problem *problem);

/* Where the path begins in `target`. Of an absolute form (RFC 9112, 3.2.2) it is behind the
 * authority, which is the Host from then on. */
char *reader_origin_form(char *target, struct headers *headers);

/* Copies the Idempotency-Key, or "" when there is none; 400 invalid_header when it breaks the
 * rules. A string of RFC 8941, in quotes, is the same key as what it stands for, bare. */
bool reader_key(const struct headers *headers, char out[ORDER_KEY_MAX + 1],
                struct problem *problem);

/* 400 invalid_header when the write is to depend on something: nobody looks at that, and so what
 * the client wants kept would be lost. */
bool reader_unconditional(const struct headers *headers, struct problem *problem);

/* *epoch is what If-Match names, "N" in quotes; 0 without one. 400 invalid_header when it breaks
 * the rules, or there is a condition beside it. */
bool reader_match(const struct headers *headers, int64_t *epoch, struct problem *problem);

#endif
