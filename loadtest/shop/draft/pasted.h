/*
 * What somebody pasted: a curl command as a browser copies it ("copy as cURL", for bash), and an
 * answer as `curl -i` prints it. One thread; texts are the pool's.
 */
#ifndef SECKILL_LOADTEST_SHOP_PASTED_H
#define SECKILL_LOADTEST_SHOP_PASTED_H

#include "loadtest/shop/target.h"

#include <jansson.h>

enum { PASTED_BYTES_MAX = 256 * 1024, PASTED_HEADERS_MAX = 64 };

struct pasted_curl {
    const char *method, *path; /* the path with its query */
    const char *body;          /* NULL: none */
    bool body_is_json;         /* else a form, unless a header says what it is */
    struct shop_pair headers[PASTED_HEADERS_MAX];
    size_t header_count;
};

struct pasted_answer {
    int status;
    const char *body;
    json_t *json; /* owned; NULL: it is none */
};

/* False: `error` says file, line where there is one, what is wrong and what would be right. */
bool pasted_read_curl(const char *file, struct pool *pool, struct pasted_curl *out,
                      struct error *error);
bool pasted_read_answer(const char *file, struct pool *pool, struct pasted_answer *out,
                        struct error *error);

/* --- private to this room --- */

/* The file's text; NULL: `error` says why. */
char *pasted_text(const char *file, struct pool *pool, struct error *error);

/* Cuts a command into words as bash does: quotes of three kinds, backslashes, lines that go on.
 * What stands behind the command (a pipe, a second line) is left out. The array ends with NULL. */
const char **pasted_words(const char *file, const char *text, struct pool *pool,
                          struct error *error);

#endif
