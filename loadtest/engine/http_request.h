/*
 * A request to the servers' HTTP API: what it asks, and its bytes. Nobody else writes what an order
 * is asked with.
 */
#ifndef SECKILL_LOADTEST_ENGINE_HTTP_REQUEST_H
#define SECKILL_LOADTEST_ENGINE_HTTP_REQUEST_H

#include <stddef.h>
#include <stdint.h>

enum {
    REQUEST_BYTES = 4096, /* the longest headers of the user's, and everything else */
    REQUEST_QUERY_SIZE = 100,
    REQUEST_TARGET_SIZE = 400,
    REQUEST_BODY_SIZE = 160,
    REQUEST_KEY_SIZE = 65
};

struct http_request {
    const char *method; /* borrowed, as the two below */
    const char *token;  /* "" or NULL: none */
    const char *lines;  /* more headers, as headers_read makes them; may be NULL */
    char target[REQUEST_TARGET_SIZE];
    char key[REQUEST_KEY_SIZE]; /* "": none */
    char body[REQUEST_BODY_SIZE];
};

/* What stands behind "strategy=NAME": wait_ms where it is not negative; body where it is not "";
 * flush where it is not NULL. */
void http_request_query(char out[REQUEST_QUERY_SIZE], int64_t wait_ms, const char *body,
                        const char *flush);
void http_request_order_target(char *out, size_t size, const char *strategy, const char *query);
void http_request_restock_target(char *out, size_t size, int64_t product, const char *strategy,
                                 const char *query);

/* An order's body; what has no hold (0) names none: it is the product's or the server's to decide.
 */
struct http_order {
    int64_t product, user, quantity, hold_s;
};
void http_request_order_body(char out[REQUEST_BODY_SIZE], const struct http_order *order);
void http_request_restock_body(char out[REQUEST_BODY_SIZE], int64_t quantity);

/* The request's length; it fits in `out`. `authority` is who is asked. */
size_t http_request_write(const struct http_request *request, const char *authority,
                          char out[REQUEST_BYTES]);

#endif
