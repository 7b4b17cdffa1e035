/*
 * The ZooKeeper that zookeeper-lock is in: one session for the whole process.
 *
 * Every thread may use it at once; what it guards is under its own mutex. Nothing waits here.
 */
#ifndef SECKILL_LOCK_ZOOKEEPER_ZOOKEEPER_H
#define SECKILL_LOCK_ZOOKEEPER_ZOOKEEPER_H

#include "lock/lock.h"

struct keeper;

/* False: ZooKeeper's client library was absent when this was built, and nothing else here may be
 * called. */
bool keeper_built(void);

/* `hosts` as ZooKeeper writes it: HOST:PORT,…, perhaps with a /PATH at its end that all names stand
 * under. Connects when it is first needed. */
struct keeper *keeper_create(const char *hosts, const struct settings *settings,
                             struct error *error);
void keeper_destroy(struct keeper *keeper); /* NULL is allowed */

/* No I/O: there is a session with a server, or none has been needed yet. */
bool keeper_up(struct keeper *keeper);

#endif
