/*
 * The router: which handler serves a request, by the table that the edge was given (routes.c).
 *
 * Paths are compared as they came: none of ours needs an escape, so a path with one is unknown.
 */
#ifndef SECKILL_HTTP_ROUTER_H
#define SECKILL_HTTP_ROUTER_H

#include "http/request.h"

/* Sets the request's route, query and ids from its target; false with 404 or 405 in its problem. */
bool router_find(struct request *request, const char *method);

#endif
