/*
 * The bytes of a connection, read by its protocol: where a request and where a reply ends, what the
 * request asks for, and whether the reply says that it was done.
 *
 * Bytes are fed as they come, in pieces of any size. Bytes that it cannot understand make the whole
 * connection blind: it reports no more messages.
 */
#ifndef SECKILL_LOADTEST_RELAY_WIRE_H
#define SECKILL_LOADTEST_RELAY_WIRE_H

#include "loadtest/relay/toxic.h"

#include <stddef.h>

enum { WIRE_HEAD_BYTES = 1024, WIRE_PENDING_MAX = 4096, WIRE_DEPTH_MAX = 8, WIRE_LINE_BYTES = 64 };

/* The message that is being read in one direction. */
struct wire_message {
    char head[WIRE_HEAD_BYTES + 1]; /* its beginning, without what frames it */
    size_t head_length;
    char line[WIRE_LINE_BYTES]; /* what frames it: a header, or a line */
    size_t line_length;
    uint64_t left; /* bytes of its body, or of a bulk string, that are to come */
    bool in_body;
    int64_t nested[WIRE_DEPTH_MAX]; /* elements of Redis's arrays that are to come */
    int depth;
};

struct wire {
    const struct wire_protocol *protocol; /* NULL: bytes alone */
    bool blind;
    struct wire_message messages[2];
    /* Requests that have no reply yet, first in first out; WIRE_… of each. */
    unsigned char pending[WIRE_PENDING_MAX];
    size_t first, count;
    unsigned char marks; /* of the request that is being read */
    /* PostgreSQL's alone. */
    bool begun;       /* the startup message is through */
    bool greeted;     /* and so is the reply to it */
    int raw_bytes;    /* answers without a frame, to requests for encryption */
    char transaction; /* what the last ReadyForQuery said */
    /* Of the reply that is being read. */
    bool wrote;     /* rows */
    bool committed; /* it says COMMIT */
    bool failed;    /* Redis's too: it is an error */
    bool refused;   /* Redis's: it is nil or 0 */
};

enum { WIRE_MARKED = 1, WIRE_HELD = 2 };

/* What a fed piece has brought to its end. */
struct wire_seen {
    bool message; /* one of a request; of a reply, all of it */
    bool loose;   /* what belongs to none, as all that starts a session */
    bool asks;    /* it will be replied to */
    bool committed, failed, refused, marked, held;
};

void wire_init(struct wire *wire, const struct wire_protocol *protocol); /* NULL: bytes alone */

/* Reads on until a message ends, and no further; answers how much it has read. */
size_t wire_feed(struct wire *wire, enum relay_stream stream, const char *bytes, size_t length,
                 struct wire_seen *seen);

/* Whether the request that has just ended is this. */
bool wire_is(const struct wire *wire, const char *what);
/* Says so after each message of a request; the reply will be `marked`, or `held`, if one was. */
void wire_note_request(struct wire *wire, const struct wire_seen *seen, bool marked, bool held);

/* A protocol that is read: how its bytes are fed, and whether its request is this. */
struct wire_protocol {
    size_t (*feed)(struct wire *wire, enum relay_stream stream, const char *bytes, size_t length,
                   struct wire_seen *seen);
    bool (*is)(const struct wire *wire, const char *what);
};
extern const struct wire_protocol wire_postgres, wire_redis;

/* For the protocols' files. The reply to the first request that has none is here; it has its
 * marks. */
void wire_pop(struct wire *wire, struct wire_seen *seen);
void wire_keep(struct wire_message *message, const char *bytes, size_t length); /* in its head */

#endif
