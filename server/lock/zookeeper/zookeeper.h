/*
 * The ZooKeeper that zookeeper-lock is in: one session for the whole process.
 *
 * Every thread may use it at once; what it guards is under its own mutex. Nothing waits here.
 */
#ifndef SECKILL_LOCK_ZOOKEEPER_ZOOKEEPER_H
#define SECKILL_LOCK_ZOOKEEPER_ZOOKEEPER_H

#include "lock/lock.h"

struct zookeeper;

/* False: ZooKeeper's client library was absent when this was built, and nothing else here may be
 * called. */
bool zookeeper_built(void);

/* `hosts` as ZooKeeper writes it: HOST:PORT,…, perhaps with a /PATH at its end that all names stand
 * under. Connects when it is first needed. */
struct zookeeper *zookeeper_create(const char *hosts, const struct settings *settings,
                                   struct error *error);
void zookeeper_destroy(struct zookeeper *zookeeper); /* NULL is allowed */

/* No I/O: there is a session with a server, or none has been needed yet. */
bool zookeeper_up(struct zookeeper *zookeeper);

#endif
