/*
 * A Redis that is further away: a relay (relay.h) on a unix socket of its own that holds each
 * direction's bytes for half of the round trip's delay, in order.
 *
 * It adds some tens of microseconds by itself, at a delay of 0 too: compare with that, not with the
 * real socket. A connection whose one side ends is ended on the other after what it still held.
 */
#ifndef SECKILL_LOADTEST_FLEET_DELAY_H
#define SECKILL_LOADTEST_FLEET_DELAY_H

#include "base/error.h"

#include <stdint.h>

struct delay;

/* `url` is unix:///PATH. NULL with the error. */
struct delay *delay_create(const char *url, struct error *error);
void delay_destroy(struct delay *delay); /* ends its connections; NULL is allowed */

const char *delay_url(const struct delay *delay); /* where it listens */

/* Applies to bytes that are read from now on. */
void delay_set(struct delay *delay, int64_t round_trip_us);

#endif
