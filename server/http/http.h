/*
 * The edge: HTTP/1.1 in, orders and tasks out, replies back.
 *
 * One thread, which waits in poll alone, runs libmicrohttpd over its epoll descriptor from a loop
 * of our own (why: docs/design/edge.md). A request that needs a backend is suspended, handed to
 * dispatch with all others of the same loop pass, and resumed when its completion arrives through
 * one list and one eventfd.
 */
#ifndef SECKILL_HTTP_HTTP_H
#define SECKILL_HTTP_HTTP_H

#include "base/error.h"
#include "dispatch/dispatch.h"
#include "strategy/strategy.h"

struct http;
struct request;

enum route_method { ROUTE_GET, ROUTE_POST, ROUTE_PUT, ROUTE_PATCH };

struct route {
    const char *pattern; /* segments; {order} is a UUID and {product} an id */
    enum route_method method;
    bool admin;
    void (*handle)(struct request *request);
};

/* Binds, listens and prints nothing; http_address says where. Nothing is served before http_run.
 * `routes`, which ends with a row without a pattern, is borrowed. */
struct http *http_create(const struct services *services, const struct route *routes,
                         struct error *error);

/* "http://HOST:PORT", with the real port where 0 was asked for. */
const char *http_address(const struct http *http);

/* Where dispatch hands decided orders and finished tasks back; valid as long as `http` is. */
struct completion http_completion(struct http *http);

/* Serves on the calling thread until the process is told to stop (base/stop.h); then drains
 * `dispatch`, answers what is in flight and returns. A second stop ends the drain. Exit status: 0
 * when everything accepted was answered. */
int http_run(struct http *http, struct dispatch *dispatch);

void http_destroy(struct http *http); /* NULL is allowed */

#endif
