/*
 * RabbitMQ: connections, the two kinds of queue that are used, and what an error means.
 *
 * The broker as a whole is a backend (backend_rabbitmq); a `struct rabbit` is a session of it, one
 * connection, and belongs to one thread at a time. Waiting is bounded by absolute monotonic
 * deadlines, and by heartbeats where the protocol has no deadline. After any error a connection is
 * closed: what was not acknowledged on it goes to the next consumer, what was not confirmed is
 * unknown, and every call but rabbit_connect fails for the same reason.
 *
 * Sources: RabbitMQ documentation, "Quorum Queues", "Consumers: Single Active Consumer", "Consumer
 * Acknowledgements and Publisher Confirms"; AMQP 0-9-1; librabbitmq's amqp.h.
 */
#ifndef SECKILL_RABBITMQ_RABBIT_H
#define SECKILL_RABBITMQ_RABBIT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rabbit;

enum rabbit_kind {
    RABBIT_WORK,   /* a quorum queue with a single active consumer: nothing that was confirmed is
                      lost, and one consumer at a time gets it, in order */
    RABBIT_REPLIES /* gone a minute after its last consumer */
};

enum rabbit_result { RABBIT_GOT, RABBIT_NOTHING, RABBIT_LOST };

enum { RABBIT_NAME_MAX = 160 };

struct rabbit_message {
    const char *body; /* borrowed until the next call; NUL follows it */
    size_t length;
    char reply_to[RABBIT_NAME_MAX + 1]; /* "" when nobody waits */
    uint64_t tag;
    bool again; /* somebody had it before, and has not acknowledged it */
};

/* Makes sure of an open connection; cheap when there is one. After a failed attempt others fail at
 * once for a quarter of a second. Not for a connection that consumes: that one is lost when
 * rabbit_receive says so. */
bool rabbit_connect(struct rabbit *rabbit, int64_t until_us);
void rabbit_close(struct rabbit *rabbit);
const struct error *rabbit_error(const struct rabbit *rabbit);

/* Makes the queue if there is none. rabbit_consume does so, too. */
bool rabbit_declare(struct rabbit *rabbit, enum rabbit_kind kind, const char *queue);

/* From now on rabbit_receive brings the queue's messages; where that fails /readyz says why. Those
 * of a work queue come again, to the consumer that it has then, until they are acknowledged. */
bool rabbit_consume(struct rabbit *rabbit, enum rabbit_kind kind, const char *queue);
enum rabbit_result rabbit_receive(struct rabbit *rabbit, int64_t until_us,
                                  struct rabbit_message *out);
/* The message of this tag is done, and with `those_before` all that came before it on this
 * connection. One that was acknowledged may not be so again. */
bool rabbit_ack(struct rabbit *rabbit, uint64_t tag, bool those_before);

/* Sends a message that must not be lost, and waits until the broker has it on the disks of most of
 * its nodes. False: unknown, or there is no such queue; the connection is closed. */
bool rabbit_publish(struct rabbit *rabbit, const char *queue, const char *reply_to,
                    const char *body, size_t length, int64_t until_us);
/* Whether that was because there is no such queue. */
bool rabbit_was_unrouted(const struct rabbit *rabbit);
/* Sends one that may be lost. */
bool rabbit_send(struct rabbit *rabbit, const char *queue, const char *body, size_t length);

#endif
