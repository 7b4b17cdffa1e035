/* See http_request.h. */
#include "loadtest/engine/http_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TOKEN_LINE_BYTES = 600, KEY_LINE_BYTES = REQUEST_KEY_SIZE + 32 };

void http_request_query(char out[REQUEST_QUERY_SIZE], int64_t wait_ms, const char *body,
                        const char *flush)
{
    size_t used = 0;
    *out = '\0';
    if (wait_ms >= 0)
        used += (size_t)snprintf(out, REQUEST_QUERY_SIZE, "&wait_ms=%" PRId64, wait_ms);
    if (*body)
        used += (size_t)snprintf(out + used, REQUEST_QUERY_SIZE - used, "&body=%.16s", body);
    if (flush)
        snprintf(out + used, REQUEST_QUERY_SIZE - used, "&flush=%.16s", flush);
}

void http_request_order_target(char *out, size_t size, const char *strategy, const char *query)
{
    snprintf(out, size, "/orders?strategy=%s%s", strategy, query);
}

void http_request_restock_target(char *out, size_t size, int64_t product, const char *strategy,
                                 const char *query)
{
    snprintf(out, size, "/products/%" PRId64 "/restock?strategy=%s%s", product, strategy, query);
}

void http_request_order_body(char out[REQUEST_BODY_SIZE], const struct http_order *order)
{
    char hold[40] = "";
    if (order->hold_s)
        snprintf(hold, sizeof hold, ",\"hold_s\":%" PRId64, order->hold_s);
    snprintf(out, REQUEST_BODY_SIZE,
             "{\"product_id\":%" PRId64 ",\"user_id\":%" PRId64 ",\"quantity\":%" PRId64 "%s}",
             order->product, order->user, order->quantity, hold);
}

void http_request_restock_body(char out[REQUEST_BODY_SIZE], int64_t quantity)
{
    snprintf(out, REQUEST_BODY_SIZE, "{\"quantity\":%" PRId64 "}", quantity);
}

size_t http_request_write(const struct http_request *request, const char *authority,
                          char out[REQUEST_BYTES])
{
    char token[TOKEN_LINE_BYTES] = "", key[KEY_LINE_BYTES] = "", length[40] = "";
    if (request->token && *request->token)
        snprintf(token, sizeof token, "Authorization: Bearer %.512s\r\n", request->token);
    if (*request->key)
        snprintf(key, sizeof key, "Idempotency-Key: %s\r\n", request->key);
    if (strcmp(request->method, "GET") != 0)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", strlen(request->body));
    int bytes = snprintf(out, REQUEST_BYTES, "%s %s HTTP/1.1\r\nHost: %s\r\n%s%s%s%s%s\r\n%s",
                         request->method, request->target, authority,
                         *request->body ? "Content-Type: application/json\r\n" : "", token,
                         request->lines ? request->lines : "", key, length, request->body);
    return bytes < REQUEST_BYTES ? (size_t)bytes : REQUEST_BYTES - 1;
}
