/*
 * The memcached that memcached-lock is in.
 *
 * A `struct memcache` is the server as a whole, shared by all threads; a `struct memcache_session`
 * is one connection and belongs to one thread at a time.
 */
#ifndef SECKILL_LOCK_MEMCACHE_H
#define SECKILL_LOCK_MEMCACHE_H

#include "lock/lock.h"

struct memcache;
struct memcache_session;

/* False: libmemcached was absent when this was built, and nothing else here may be called. */
bool memcache_built(void);

/* Parses HOST:PORT or unix:///PATH; connects to nothing. */
struct memcache *memcache_create(const char *address, struct error *error);
void memcache_destroy(struct memcache *memcache); /* after every session; NULL is allowed */

/* No I/O: the last call got through (true before the first). */
bool memcache_up(const struct memcache *memcache);

/* A worker's session, connected when it is first needed. */
struct memcache_session *memcache_open(struct memcache *memcache);
void memcache_close(struct memcache_session *session); /* NULL is allowed */

#endif
