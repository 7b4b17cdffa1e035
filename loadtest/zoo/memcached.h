/*
 * A session with memcached, in its text protocol (doc/protocol.txt of memcached): one command, one
 * answer. It is hiredis's connection, which dials hosts and paths and has limits, and of which the
 * socket alone is used: the harness needs no library for one exhibit.
 */
#ifndef SECKILL_LOADTEST_ZOO_MEMCACHED_H
#define SECKILL_LOADTEST_ZOO_MEMCACHED_H

#include "base/error.h"

#include <hiredis/hiredis.h>

enum { MEMCACHED_REPLY_SIZE = 256 };

/* HOST:PORT or unix:///path. Each call after it ends within 5 s. NULL with the error. Owned by the
 * caller: redisFree. */
redisContext *memcached_open(const char *address, struct error *error);

/* Sends a command, less its last line end, and reads its answer, less its last one: "STORED",
 * "END", or with what a key holds "VALUE key flags bytes number\r\ntext\r\nEND". An answer that is
 * an error, or too long, is an error. */
bool memcached_say(redisContext *session, const char *command, char reply[MEMCACHED_REPLY_SIZE],
                   struct error *error);

#endif
