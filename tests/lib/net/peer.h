/*
 * A peer that is connected and behaves badly: it sends a byte at a time, or reads no more. It
 * listens on a free port of 127.0.0.1 and on a unix socket, and serves one connection after the
 * other in a thread of its own.
 */
#ifndef SECKILL_TESTS_LIB_NET_PEER_H
#define SECKILL_TESTS_LIB_NET_PEER_H

#include <stdint.h>

enum peer_way {
    PEER_DRIPS, /* says its words, then "x", a byte every 20 ms, until PEER_DRIP_US are over */
    PEER_LEAVES /* says its words when the first bytes have come; who writes then gets EPIPE, on the
                   unix socket alone */
};

#define PEER_DRIP_US INT64_C(4000000)

struct peer;

/* Borrowed: words. */
struct peer *peer_start(enum peer_way way, const char *words, int length);
void peer_stop(struct peer *peer);
int peer_port(const struct peer *peer);
const char *peer_path(const struct peer *peer);

#endif
