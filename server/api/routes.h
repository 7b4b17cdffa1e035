/* The routes, for http_create. */
#ifndef SECKILL_API_ROUTES_H
#define SECKILL_API_ROUTES_H

#include "http/http.h"

extern const struct route api_routes[]; /* ends with a row without a pattern */

#endif
