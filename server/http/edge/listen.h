/* The listening socket, and the file descriptors that its connections will need. */
#ifndef SECKILL_HTTP_LISTEN_H
#define SECKILL_HTTP_LISTEN_H

#include "base/error.h"

#include <stddef.h>

/* Binds HOST:PORT (or [V6]:PORT; port 0 takes a free one) and listens, non-blocking. Writes
 * "http://HOST:PORT" as bound to `address`. Returns the descriptor, or -1 with an error that says
 * what is wrong with the address. */
int listen_open(const char *host_port, char *address, size_t address_size, struct error *error);

/* Raises RLIMIT_NOFILE to fit so many connections; returns how many fit, and warns when that is
 * fewer. */
unsigned listen_fit_connections(unsigned wanted);

#endif
