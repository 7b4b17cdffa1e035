/*
 * The bytes of a connection, read by its protocol: where a request and where a reply ends, what the
 * request asks for, and whether the reply says that it was done.
 *
 * Bytes are fed as they come, in pieces of any size. Bytes that it cannot understand make the whole
 * connection blind: nothing of it is fed any more.
 */
#ifndef SECKILL_LOADTEST_RELAY_WIRE_H
#define SECKILL_LOADTEST_RELAY_WIRE_H

#include "loadtest/relay/toxic.h"

#include <stddef.h>
#include <string.h>

enum { WIRE_HEAD_BYTES = 1024, WIRE_DEPTH_MAX = 8, WIRE_LINE_BYTES = 64 };

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
    bool blind;
    struct wire_message messages[2];
    /* PostgreSQL's alone. */
    bool begun;          /* the startup message is through */
    bool greeted;        /* and so is the reply to it */
    int raw_bytes;       /* answers without a frame, to requests for encryption */
    bool in_transaction; /* said the last ReadyForQuery */
    /* Of the reply that is being read, or has just ended. */
    struct wire_reply {
        bool wrote;     /* PostgreSQL's: rows */
        bool committed; /* PostgreSQL's: it says COMMIT, or rows were written outside of BEGIN */
        bool failed;    /* it is an error */
        bool refused;   /* Redis's: it is nil or 0 */
    } reply;
};

/* What a fed piece has brought to its end. */
enum wire_end {
    WIRE_NOTHING,
    WIRE_LOOSE,   /* what belongs to no request, as all that starts a session */
    WIRE_PART,    /* a message of a request or a reply, of which more will come */
    WIRE_REQUEST, /* a request's last message: it will be replied to */
    WIRE_REPLY    /* all of a reply */
};

/* A protocol that is read. */
struct wire_protocol {
    /* Reads on until a message ends, and no further; answers how much it has read. */
    size_t (*feed)(struct wire *wire, enum relay_stream stream, const char *bytes, size_t length,
                   enum wire_end *end);
    /* Whether the request of which a message has just ended is this. */
    bool (*is)(const struct wire *wire, const char *what);
};
extern const struct wire_protocol wire_postgres, wire_redis;

/* Keeps bytes in the head, as far as they fit. */
static inline void wire_keep(struct wire_message *message, const char *bytes, size_t length)
{
    size_t room = WIRE_HEAD_BYTES - message->head_length;
    size_t taken = length < room ? length : room;

    memcpy(message->head + message->head_length, bytes, taken);
    message->head_length += taken;
    message->head[message->head_length] = '\0';
}

#endif
