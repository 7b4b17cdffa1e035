/*
 * Reads what a server of ours answers, as the open-loop generator needs it: the status, the length,
 * whether the connection goes on. Small and strict: HTTP/1.1 with a Content-Length, one answer to
 * one request. Everything else is unexpected, and ends the connection.
 */
#ifndef SECKILL_LOADTEST_LOAD_ANSWER_H
#define SECKILL_LOADTEST_LOAD_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

enum answer_state { ANSWER_PARTIAL, ANSWER_WHOLE, ANSWER_UNEXPECTED };

struct answer {
    int status;
    bool closes; /* the server ends the connection after it */
};

/* `out` is set with ANSWER_WHOLE. */
enum answer_state answer_read(const char *bytes, size_t used, struct answer *out);

#endif
