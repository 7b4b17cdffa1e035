/* Exact bytes to a server, and what comes back. */
#ifndef SECKILL_TESTS_HTTP_LIB_RAW_H
#define SECKILL_TESTS_HTTP_LIB_RAW_H

#include "lib/server.h"

#include <stddef.h>
#include <stdint.h>

/* An order of 28 bytes, and the heads of requests. */
#define RAW_BODY   "{\"product_id\":1,\"user_id\":2}"
#define RAW_LENGTH "Content-Length: 28\r\n"
#define RAW_POST   "POST /orders HTTP/1.1\r\nHost: x\r\n"
#define RAW_GET    "GET /healthz HTTP/1.1\r\nHost: x\r\n"

/* SERVER_PATIENCE_US from now. */
int64_t raw_patience(void);

/* Opens a connection and sends; it may end before it has taken all of it. */
struct http_client *raw_send(struct server *server, const char *text);

/* The next reply's status; 0: the connection ended, or what came is no reply. */
int raw_status(struct http_client *client);

/* `before`, `count` times `filler`, `after`; malloc'ed. */
char *raw_fill(const char *before, const char *filler, int count, const char *after);

#endif
