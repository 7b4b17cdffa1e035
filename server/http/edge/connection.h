/*
 * Connections: which request each one is at, the deadline of its present phase, and whether its
 * peer still sends.
 *
 * libmicrohttpd's own timeout is one of inactivity: a client that sends a byte now and then is
 * never late. And it does not report some requests that it refused itself. So every connection has
 * an absolute deadline for its phase, and when it closes, the request that is left is completed.
 *
 * Nor does it see a peer's end that comes together with bytes (0.9.75), or tell that a request's
 * line has begun. So the connections are in an epoll set of their own, which wakes the loop when a
 * peer ends, and at the first byte after a while of silence; no request pays for it.
 */
#ifndef SECKILL_HTTP_CONNECTION_H
#define SECKILL_HTTP_CONNECTION_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

struct request;

enum connection_phase {
    CONNECTION_FRESH,   /* no byte of a request is known of; a short while, then a look */
    CONNECTION_IDLE,    /* nor was there one; the next byte is watched for */
    CONNECTION_READING, /* from the first byte that is known of to the end of the body */
    CONNECTION_ENDED,   /* the peer sends no more, and has no whole request there */
    CONNECTION_WRITING, /* the reply */
    CONNECTION_WAITING  /* its order or call has deadlines of its own */
};

/* Those with a deadline. */
enum { CONNECTION_PHASES = CONNECTION_WAITING };

struct connection {
    struct MHD_Connection *mhd; /* borrowed: libmicrohttpd */
    struct request *request;    /* borrowed: request.c; NULL between two */
    enum connection_phase phase;
    int fd;           /* borrowed: libmicrohttpd */
    bool watched;     /* for its next byte */
    bool ended;       /* the peer sends no more */
    int looks_left;   /* at an ended one */
    uint64_t taken;   /* bytes of the requests that are complete */
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
    int watch_fd;    /* owned: the epoll set */
    /* Called when a connection closes that still has a request, which it must complete. */
    void (*on_close)(struct connection *connection);
};

/* libmicrohttpd's callback; `cls` are the connections. */
void connection_on_change(void *cls, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code);

/* NULL when there was no memory for it. */
struct connection *connection_of(struct MHD_Connection *mhd);

/* A request's line has come: the time for it runs already where its first byte was seen. */
void connection_begin(struct connections *connections, struct connection *connection,
                      int64_t now_us);

/* The connection is in this phase from `now_us` on. */
void connection_enter(struct connections *connections, struct connection *connection,
                      enum connection_phase phase, int64_t now_us);

/* What the epoll set has to tell. */
void connection_watch(struct connections *connections, int64_t now_us);

/* Ends the connections whose time is up; after libmicrohttpd has read what there is. */
void connection_expire(struct connections *connections, int64_t now_us);

/* When the next one's time is up; INT64_MAX when there is none. */
int64_t connection_next_us(const struct connections *connections);

#endif
