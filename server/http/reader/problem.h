/*
 * A problem: why a request is refused, as an RFC 9457 document says it.
 *
 * Readers fill one and return false; the reply writer renders it. Its texts are safe to stand in
 * JSON as they are: problem_set replaces whatever is not printable ASCII, so nothing a client sends
 * needs escaping later.
 */
#ifndef SECKILL_HTTP_READER_PROBLEM_H
#define SECKILL_HTTP_READER_PROBLEM_H

#include "order/order.h"
#include "settings/settings.h"

#include <stdbool.h>
#include <stddef.h>

enum { PROBLEM_JSON_MAX = 864 };

struct problem {
    int status;
    const char *code;  /* one of docs/openapi.yaml's; static */
    const char *phase; /* "queue" or "lock" of a wait_timeout; else NULL; static */
    char field[64];    /* the parameter, member or header to blame; "" when there is none */
    char detail[384];  /* a sentence for people */
    char order_id[UUID_TEXT_LENGTH + 1]; /* "" but for an order whose outcome is unknown */
    unsigned cell;                       /* that the order is of, where it is another one; else 0 */
};

/* Always returns false, so that a reader can `return problem_set(…)`. `field` may be NULL. */
__attribute__((format(printf, 5, 6))) bool problem_set(struct problem *problem, int status,
                                                       const char *code, const char *field,
                                                       const char *format, ...);

/* 400 invalid_field, which always names one: a name of no character is "(empty)". */
__attribute__((format(printf, 3, 4))) bool problem_field(struct problem *problem, const char *field,
                                                         const char *format, ...);

/* The outcome table's row; not for the outcomes of success. */
void problem_outcome(struct problem *problem, enum order_outcome outcome);
/* The same, with what this order adds to it. */
void problem_from_order(struct problem *problem, const struct order *order);
/* In place of a 404 for what another of several cells may have (--cell): 421. An order is of the
 * cell that its id names; `order` is the one of the path, or zeroed. */
void problem_elsewhere(struct problem *problem, const struct settings *settings,
                       const struct uuid *order);

/* Writes the document and returns its length. */
size_t problem_render(const struct problem *problem, char out[PROBLEM_JSON_MAX]);

#endif
