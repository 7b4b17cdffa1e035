/*
 * A shop of a few lines that remembers every byte it was sent: a thread that serves one connection
 * after the other, on a free port of 127.0.0.1, with the same answer to each request.
 */
#ifndef SECKILL_TESTS_HARNESS_SHOP_WIRE_LISTENER_H
#define SECKILL_TESTS_HARNESS_SHOP_WIRE_LISTENER_H

#include <stddef.h>

enum listener_way {
    LISTENER_ANSWERS,
    LISTENER_HANGS_UP, /* answers a connection's first request, and closes it at the second */
    LISTENER_IS_SILENT /* reads, and never answers */
};

struct listener;

/* Borrowed: answer, which is a whole response. Fails the test when it cannot. */
struct listener *listener_start(enum listener_way way, const char *answer);
int listener_port(const struct listener *listener);
/* Ends it; `heard` gets all that came, cut to size - 1. How many requests that were. */
size_t listener_stop(struct listener *listener, char *heard, size_t size);

#endif
