/*
 * Connections: which request each one is at, and the deadline of its present phase.
 *
 * libmicrohttpd's own timeout is one of inactivity: a client that sends a byte now and then is
 * never late. And it does not report some requests that it refused itself. So every connection has
 * an absolute deadline for its phase, and when it closes, the request that is left is completed.
 */
#ifndef SECKILL_HTTP_CONNECTION_H
#define SECKILL_HTTP_CONNECTION_H

#include <microhttpd.h>
#include <stdint.h>

struct request;

enum connection_phase {
    CONNECTION_IDLE,    /* no request line yet */
    CONNECTION_READING, /* from the request line to the end of the body */
    CONNECTION_WRITING, /* the reply */
    CONNECTION_WAITING  /* its order or call has deadlines of its own */
};

/* Those with a deadline. */
enum { CONNECTION_PHASES = CONNECTION_WAITING };

struct connection {
    struct MHD_Connection *mhd; /* borrowed: libmicrohttpd */
    struct request *request;    /* borrowed: request.c; NULL between two */
    enum connection_phase phase;
    int64_t until_us; /* monotonic */
    struct connection *previous;
    struct connection *next;
};

/* The connections of one phase. All have the same allowance, so the first in expires first. */
struct connection_list {
    struct connection *first;
    struct connection *last;
};

/* All connections of the edge, and of its thread. */
struct connections {
    struct connection_list phases[CONNECTION_PHASES];
    int64_t count;
    int64_t idle_us; /* how long a connection may be idle */
    /* Called when a connection closes that still has a request, which it must complete. */
    void (*on_close)(struct connection *connection);
};

/* libmicrohttpd's callback; `cls` are the connections. */
void connection_on_change(void *cls, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code);

/* NULL when there was no memory for it. */
struct connection *connection_of(struct MHD_Connection *mhd);

/* The connection is in this phase from `now_us` on. */
void connection_enter(struct connections *connections, struct connection *connection,
                      enum connection_phase phase, int64_t now_us);

/* Ends the connections whose time is up. */
void connection_expire(struct connections *connections, int64_t now_us);

/* When the next one's time is up; INT64_MAX when there is none. */
int64_t connection_next_us(const struct connections *connections);

#endif
