/*
 * An answer of the servers: the status, the body, whether the connection goes on, and what a body
 * of the API's names. Small and strict: HTTP/1.1 with a Content-Length, one answer to one request.
 */
#ifndef SECKILL_LOADTEST_ENGINE_ANSWER_H
#define SECKILL_LOADTEST_ENGINE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

enum answer_state { ANSWER_PARTIAL, ANSWER_WHOLE, ANSWER_UNEXPECTED };

struct answer {
    int status;       /* 0: none came */
    bool unsent;      /* of none: the request was not sent whole, so nothing was done */
    bool closes;      /* the server ends the connection after it */
    const char *body; /* borrowed: `bytes`; it ends with the bytes, and not with a NUL */
    size_t body_length;
};

/* `out` is set with ANSWER_WHOLE. */
enum answer_state answer_read(const char *bytes, size_t used, struct answer *out);

/* Of an order, and of a problem; "": it has none. Longer values are cut off; a cut id is still
 * longer than any real one. */
enum { ANSWER_ID_SIZE = 64, ANSWER_WORD_SIZE = 32 };
struct answer_fields {
    char id[ANSWER_ID_SIZE], order_id[ANSWER_ID_SIZE];
    char code[ANSWER_WORD_SIZE], status[ANSWER_WORD_SIZE];
};
void answer_fields(const struct answer *answer, struct answer_fields *out);

#endif
