/*
 * Toxics: what a relay (relay.h) can do to a connection, and what it counts.
 *
 * Names, directions and meanings are Toxiproxy's where Toxiproxy has the same.
 */
#ifndef SECKILL_LOADTEST_RELAY_TOXIC_H
#define SECKILL_LOADTEST_RELAY_TOXIC_H

#include <stdbool.h>
#include <stdint.h>

enum relay_protocol {
    RELAY_BYTES, /* RabbitMQ, a replication link … */
    RELAY_POSTGRES,
    RELAY_REDIS
};

enum relay_stream {
    RELAY_UPSTREAM,  /* from the client to the target */
    RELAY_DOWNSTREAM /* from the target to the client */
};

enum relay_type {
    /* One direction's. `amount` is … */
    RELAY_LATENCY, /* us by which bytes come later; they stay in order */
    RELAY_STALL,   /* of no meaning: bytes are kept, and go on when this is cleared */
    /* Both directions'. */
    RELAY_RESET_PEER, /* us until connections are reset (RST; on a unix socket closed) */
    RELAY_REFUSE,     /* of no meaning: new ones are closed */
    /* Once, for the nth that matches; the protocol must not be RELAY_BYTES. */
    RELAY_SWALLOW_REPLY, /* it is executed; us until both sides are closed, without its reply */
    RELAY_LOSE_REQUEST,  /* of no meaning: it and what follows never arrive, both are closed */
    RELAY_HOLD_REQUEST, /* it and what follows arrive when this is cleared, though its client may be
                           gone by then; us until the client sees an end, 0: never */
    RELAY_TYPES
};

struct relay_toxic {
    enum relay_type type;
    enum relay_stream stream;
    int64_t amount;
    /*
     * The text that a request must have, in upper or lower case. PostgreSQL: the name of a prepared
     * statement, the beginning of one without a name, or a part of plain SQL. Redis: a command;
     * "EVAL" stands for EVALSHA and FCALL too. RELAY_SWALLOW_REPLY waits for a reply that says that
     * it was done: it is no error and, but for a script's, not nil or 0.
     *
     * RELAY_SWALLOW_REPLY with "COMMIT", in capitals, matches any reply that says that something
     * was committed: the reply to COMMIT itself, or to rows written outside a transaction.
     */
    const char *what; /* borrowed for as long as the relay lives */
    int64_t nth;      /* from now on; 0 and 1: the next */
    bool then_refuse; /* RELAY_REFUSE is set where it bites: nobody comes back behind it */
};

struct relay_counts {
    int64_t open;     /* connections, now */
    int64_t bytes[2]; /* read, by direction */
    int64_t answered; /* replies to what was held */
    int64_t bitten[RELAY_TYPES];
};

#endif
