/*
 * A 202 and what becomes of it.
 *
 * Most tests ask what was sold, not when: for them an order that was accepted is followed to its
 * end.
 */
#ifndef SECKILL_TESTS_LIB_SETTLED_H
#define SECKILL_TESTS_LIB_SETTLED_H

#include "lib/server.h"

/* A 404: its sale has ended meanwhile, or Redis has lost it. Waits until the order of a 202 is
 * decided, and turns the reply into what a synchronous strategy would have answered: 201 with the
 * order, or 409 with the reason for its code. Other replies are left as they are. An order that is
 * not decided in time ends the test. */
void settled_reply(struct server *server, struct http_reply *reply);

/* GET /orders/ID until it is not queued, or not found; the reply is the caller's to free. */
struct http_reply settled_order(struct server *server, const char *id);

#endif
