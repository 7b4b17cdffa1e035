/*
 * A connection through a relay: two sockets, and in each direction what was read and not yet passed
 * on; and what the relay was told to do to its connections, and how often it has done it. The
 * relay's thread alone uses a link; its mutex guards all of it.
 */
#ifndef SECKILL_LOADTEST_RELAY_LINK_H
#define SECKILL_LOADTEST_RELAY_LINK_H

#include "loadtest/relay/wire.h"

struct toxic {
    bool on;
    struct relay_toxic is; /* of its nth: so many more have to match, the last one is met */
    int64_t since_us;
};

struct toxics {
    struct toxic of[RELAY_TYPES][2]; /* by direction; what has none stands in both */
    struct relay_counts counts;
};

static inline const struct toxic *toxics_on(const struct toxics *toxics, enum relay_type type,
                                            enum relay_stream stream)
{
    return toxics->of[type][stream].on ? &toxics->of[type][stream] : NULL;
}

enum { LINK_PENDING_MAX = 4096 };

struct piece;

/* One direction; it reads from the end with its own number. */
struct flow {
    struct piece *first, *last; /* owned */
    size_t held;
    /* Where in the stream things stand, in bytes from its beginning. */
    uint64_t read, sent;
    uint64_t whole;   /* the last message's end */
    uint64_t barrier; /* nothing from here on is passed on */
    bool ended;       /* no more will be read */
    bool passed;      /* and its end has been passed on */
    bool full;        /* the other side takes no more at the moment */
    bool stalled;
};

struct link_end {
    struct link *link;
    int fd;
    uint32_t interest; /* what epoll is asked for; 0: it does not know of it */
    bool readable;
    bool gone; /* it takes nothing any more */
};

struct link {
    struct link *next;
    struct link_end ends[2]; /* client, target */
    struct flow flows[2];    /* by enum relay_stream */
    const struct wire_protocol *protocol;
    struct wire wire;
    /* Requests that have no reply yet, first in first out; REQUEST_… of each. */
    unsigned char pending[LINK_PENDING_MAX];
    size_t first, count;
    unsigned char marks; /* of the request that is being read */
    int64_t opened_us;
    bool cutting;    /* at the barrier downstream both sides are closed, */
    int64_t cut_us;  /* not before this */
    bool holding;    /* there is a barrier upstream until RELAY_HOLD_REQUEST is cleared */
    int64_t part_us; /* the client sees an end then; 0: not */
    bool awaited;    /* the reply to what was held has not come */
    bool over;
    bool reset; /* and TCP peers are to see a reset */
};

/* Takes both sockets. NULL when out of memory; they are closed then. */
struct link *link_create(int client, int target, enum relay_protocol protocol);
void link_destroy(struct link *link); /* closes them */

/* Reads what has come and passes on what may go; `over` when that is the end. The time of what is
 * to be done next without anything coming, INT64_MAX for never. */
int64_t link_serve(struct link *link, struct toxics *toxics, int64_t now_us);

/* RELAY_HOLD_REQUEST was cleared. */
void link_release(struct link *link);

/* The events to poll one of its ends for: EPOLLIN, EPOLLOUT, both or 0. */
uint32_t link_interest(const struct link *link, int end);

#endif
