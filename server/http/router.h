/*
 * The router: the one table of what is served, and by which handler.
 *
 * Paths are compared as they came: none of ours needs an escape, so a path with one is unknown.
 */
#ifndef SECKILL_HTTP_ROUTER_H
#define SECKILL_HTTP_ROUTER_H

#include "http/request.h"

enum route_method { ROUTE_GET, ROUTE_POST, ROUTE_PUT };

struct route {
    const char *pattern; /* segments; {order} is a UUID and {product} an id */
    enum route_method method;
    bool admin;
    void (*handle)(struct request *request);
};

/* Sets the request's route, query and ids from its target; false with 404 or 405 in its problem. */
bool router_find(struct request *request, const char *method);

#endif
