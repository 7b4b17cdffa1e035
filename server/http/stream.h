/*
 * Streams: replies without an end, server-sent events for those who listen to what changes.
 *
 * All of them are told the same. While somebody listens, a source is asked every STREAM_TICK_US for
 * what has changed since it was last asked: once for all of them, and for everything there is where
 * somebody has missed something or has just come. Nothing is kept for a slow client: while it still
 * reads one message it misses the others, and gets everything when it is done; if it takes longer
 * than STREAM_SLOW_US over one it is dropped, and the kernel holds little for it. A client that has
 * left is noticed at the next tick. A stream without a message for STREAM_QUIET_US gets a comment,
 * so that proxies do not take the connection for a dead one.
 *
 * The edge's thread owns all of it. A drain ends the streams and waits for none.
 *
 * Failure modes: the source cannot tell: its listeners' streams end, and other calls tell them why.
 * No memory for a message: the same.
 */
#ifndef SECKILL_HTTP_STREAM_H
#define SECKILL_HTTP_STREAM_H

#include "base/clock.h"
#include "http/edge/streams.h"

#include <stdbool.h>
#include <stdint.h>

#define STREAM_TICK_US  (250 * CLOCK_US_PER_MS)
#define STREAM_SLOW_US  (5 * CLOCK_US_PER_S)
#define STREAM_QUIET_US (15 * CLOCK_US_PER_S)

/* Listeners at the same time: a message of some 2 kB four times a second is 2 MB/s for so many, and
 * a resume of each. No more than a quarter of the connections that the edge has, so that buyers
 * always find one. */
enum { STREAMS_MAX = 256, STREAMS_SHARE = 4 };

struct http;
struct request;

/* Answers the request with a stream, or refuses it: there are too many, or the edge ends. */
void stream_admit(struct request *request);
/* A request with a stream is complete: its client has gone, or the stream ended. */
void stream_leave(struct request *request);

/* The source's answer; `good` false: it could not be told. */
void streams_tell(struct http *http, bool good, struct stream_news *news);

/* For the loop: asks when it is time; and when that is, INT64_MAX while nobody listens. */
void streams_tick(struct http *http);
int64_t streams_next_us(const struct http *http);
/* Lets them end. What a client has not taken yet it does not get. */
void streams_end(struct http *http);
/* Frees the source. */
void streams_fini(struct http *http);

#endif
