/*
 * Dialling: a connection to the Redis that a URL stands for, in blocking mode, before anything of
 * ours is said on it.
 *
 * With Sentinels each is asked in turn where the primary is, at every connection, and the server
 * that they name has to say that it is one (ROLE): a Sentinel may not have noticed yet.
 * Source: Redis documentation, "Guidelines for Redis clients with support for Redis Sentinel".
 */
#ifndef SECKILL_REDIS_REDIS_DIAL_H
#define SECKILL_REDIS_REDIS_DIAL_H

#include "redis/redis_url.h"

#include <hiredis/hiredis.h>
#include <stdint.h>

struct redis_tls;

/* What a session's TLS is made from: the system's CAs, or those of a file. NULL with an error; also
 * where hiredis was built without TLS, which is said. */
struct redis_tls *redis_tls_create(const char *ca_file, struct error *error);
void redis_tls_destroy(struct redis_tls *tls); /* NULL is allowed */

/* NULL with an error; else the caller's. `tls` is NULL unless the URL wants it. */
redisContext *redis_dial(const struct redis_url *url, struct redis_tls *tls, int64_t until_us,
                         struct error *error);

#endif
