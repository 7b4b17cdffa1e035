/*
 * Redlock's nodes: 3 or 5 Redis servers that know nothing of each other.
 *
 * A `struct redlock` is all of them, shared by all threads; a `struct redlock_sessions` is one
 * connection to each and belongs to one thread at a time.
 */
#ifndef SECKILL_LOCK_REDIS_REDLOCK_H
#define SECKILL_LOCK_REDIS_REDLOCK_H

#include "lock/lock.h"

enum { REDLOCK_NODES_MAX = 5 };

struct redlock;
struct redlock_sessions;

/* Parses 3 or 5 URLs with commas between them, as for redis_server_create; connects to nothing. */
struct redlock *redlock_create(const char *urls, struct error *error);
void redlock_destroy(struct redlock *redlock); /* after every session; NULL is allowed */

/* No I/O: a majority of the nodes serves (redis_server_up). */
bool redlock_up(const struct redlock *redlock);
int redlock_count(const struct redlock *redlock);
struct redis_server *redlock_node(const struct redlock *redlock, int i); /* borrowed: redlock */

/* A worker's sessions, one a node, connected when they are first needed. */
struct redlock_sessions *redlock_open(struct redlock *redlock);
void redlock_close(struct redlock_sessions *sessions); /* NULL is allowed */

#endif
