/*
 * The clients of the harness's own generator: a connection each, non-blocking and kept alive, one
 * order at a time. One that has ended is opened again when it gets its next order.
 *
 * An answer that answer_read does not expect ends the connection.
 */
#ifndef SECKILL_LOADTEST_ENGINE_CLIENT_H
#define SECKILL_LOADTEST_ENGINE_CLIENT_H

#include "base/error.h"
#include "loadtest/engine/answer.h"
#include "loadtest/engine/http_request.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { CLIENT_BUFFER_BYTES = REQUEST_BYTES };

/* Splits http://HOST[:PORT][/] (an IPv6 address in brackets). */
struct client_url {
    char authority[256]; /* what Host: says */
    char host[256];      /* without brackets */
    char port[8];
};
bool client_split_url(const char *url, struct client_url *out, struct error *error);

/* Where clients connect to. */
struct client_target {
    struct sockaddr_storage address;
    socklen_t address_length;
    char authority[256];
};
bool client_resolve(struct client_target *target, const char *url, struct error *error);

/* Raises the limit on descriptors to `count` and some; false when it is not allowed. */
bool client_allow(int64_t count, struct error *error);

enum client_state { CLIENT_CLOSED, CLIENT_OPENING, CLIENT_IDLE, CLIENT_BUSY };

struct client {
    const struct client_target *target; /* borrowed */
    int fd, epoll_fd;                   /* epoll_fd: who watches it; borrowed */
    enum client_state state;
    size_t used;
    /* The request while it opens, then what has come of the answer. */
    char buffer[CLIENT_BUFFER_BYTES];
};

void client_init(struct client *client, const struct client_target *target);

/* Opens it and waits until it stands, for the first time. */
bool client_open(struct client *client, int epoll_fd, struct error *error);

/* Sends the order, opening the connection first if it has ended. False: it failed, and is closed.
 */
bool client_send(struct client *client, int epoll_fd, const char *request, size_t length);

/* What a turn of epoll on it came to. */
enum client_event {
    CLIENT_WAITS,   /* nothing yet */
    CLIENT_ANSWERS, /* `answer` is filled, its body until the next order; it is free again */
    CLIENT_FAILS,   /* its order will not be answered; it is closed, and free again */
    CLIENT_ENDS     /* it was idle, and is closed */
};
enum client_event client_turn(struct client *client, int epoll_fd, struct answer *answer);

void client_close(struct client *client);

#endif
