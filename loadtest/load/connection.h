/*
 * The open-loop generator's connections: non-blocking, kept alive, one order at a time on each. A
 * connection that has ended is opened again when it gets its next order.
 */
#ifndef SECKILL_LOADTEST_LOAD_CONNECTION_H
#define SECKILL_LOADTEST_LOAD_CONNECTION_H

#include "base/error.h"
#include "loadtest/load/answer.h"

#include <stdint.h>
#include <sys/socket.h>

enum { CONNECTION_BUFFER_BYTES = 2048, CONNECTION_REQUEST_BYTES = 1024 };

/* Where connections go. */
struct connection_target {
    struct sockaddr_storage address;
    socklen_t address_length;
    char authority[256];
};
bool connection_resolve(struct connection_target *target, const char *url, struct error *error);

/* Raises the limit on descriptors to `count` and some; false when it is not allowed. */
bool connection_allow(int64_t count, struct error *error);

enum connection_state { CONNECTION_CLOSED, CONNECTION_OPENING, CONNECTION_IDLE, CONNECTION_BUSY };

struct connection {
    const struct connection_target *target; /* borrowed */
    int fd;
    enum connection_state state;
    size_t part; /* of the order it carries, and when that was due */
    int64_t due_us;
    size_t used;
    /* The request while it opens, then what has come of the answer. */
    char buffer[CONNECTION_BUFFER_BYTES];
};

void connection_init(struct connection *connection, const struct connection_target *target);

/* Opens it and waits until it stands, for the first time. */
bool connection_open(struct connection *connection, int epoll_fd, struct error *error);

/* Sends the order, opening the connection first if it has ended. False: it failed, and is closed.
 */
bool connection_send(struct connection *connection, int epoll_fd, const char *request,
                     size_t length);

/* What a turn of epoll on it came to. */
enum connection_event {
    CONNECTION_WAITS,   /* nothing yet */
    CONNECTION_ANSWERS, /* `answer` is filled; it is free again */
    CONNECTION_FAILS,   /* its order will not be answered; it is closed, and free again */
    CONNECTION_ENDS     /* it was idle, and is closed */
};
enum connection_event connection_turn(struct connection *connection, int epoll_fd,
                                      struct answer *answer);

void connection_close(struct connection *connection);

#endif
