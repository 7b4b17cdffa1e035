/*
 * A session with memcached, in its text protocol (doc/protocol.txt of memcached): one command, one
 * answer. It is a socket, so that the harness needs no library for one exhibit.
 */
#ifndef SECKILL_LOADTEST_ZOO_BACKENDS_MEMCACHED_H
#define SECKILL_LOADTEST_ZOO_BACKENDS_MEMCACHED_H

#include "base/error.h"

enum { MEMCACHED_REPLY_SIZE = 256 };

struct memcached {
    int socket; /* 0: not open */
};

bool memcached_is_open(const struct memcached *memcached);
/* HOST:PORT or unix:///path. Each call after it ends within 5 s. */
bool memcached_open(struct memcached *memcached, const char *address, struct error *error);
void memcached_close(struct memcached *memcached);

/* Sends a whole command and reads its answer without its last line end: "STORED", "END", or with
 * what a key holds "VALUE key flags bytes number\r\ntext\r\nEND". An answer that is an error, or
 * too long, is an error. */
bool memcached_say(struct memcached *memcached, const char *command,
                   char reply[MEMCACHED_REPLY_SIZE], struct error *error);

#endif
