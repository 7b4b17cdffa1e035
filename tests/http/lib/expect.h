/*
 * What the tests of the HTTP contract have in common: a call whose answer must be as said, down to
 * the headers that every answer of its kind has. Anything else ends the test.
 */
#ifndef SECKILL_TESTS_HTTP_LIB_EXPECT_H
#define SECKILL_TESTS_HTTP_LIB_EXPECT_H

#include "lib/server.h"

/* The answer has this status. Free it with http_reply_fini. */
struct http_reply expect(struct server *server, int status, const char *method, const char *target,
                         const char *headers, const char *body);

/* The same when only the status counts. */
void expect_status(struct server *server, int status, const char *method, const char *target,
                   const char *headers, const char *body);

/* The answer is an RFC 9457 document with this status, code and field (NULL: it has none). */
void expect_problem(struct server *server, int status, const char *code, const char *field,
                    const char *method, const char *target, const char *headers, const char *body);
void assert_problem(const struct http_reply *reply, int status, const char *code,
                    const char *field);

void assert_header(const struct http_reply *reply, const char *name, const char *value);
void assert_text(const struct http_reply *reply, const char *path, const char *value);

/* PUT /products/ID, whatever was there. */
void put_product(struct server *server, int64_t product, const char *body);

/* POST /orders with strategy `conditional`; returns the new order's id in `id`. */
void buy(struct server *server, int64_t product, int64_t user, char id[37]);

#endif
