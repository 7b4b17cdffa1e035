/* The right to make admin calls: a client with the token has it, or a loopback client where none is
 * set. */
#ifndef SECKILL_HTTP_READER_AUTH_H
#define SECKILL_HTTP_READER_AUTH_H

#include "http/reader/reader.h"

#include <sys/socket.h>

/* `token` "" means that there is none; `client` is the connection's own address. 401 unauthorized
 * or 403 forbidden. */
bool auth_admin(const char *token, const struct headers *headers, const struct sockaddr *client,
                struct problem *problem);

#endif
