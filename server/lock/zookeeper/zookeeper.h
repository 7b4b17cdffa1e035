/*
 * The session behind zookeeper-lock, one for the whole process, with calls that end by a deadline.
 * Codes are ZooKeeper's own. Every call fails at once when there is no connection, and after it is
 * lost. Any thread, any number at once: the library's own threads answer, under the session's
 * mutex.
 */
#ifndef SECKILL_LOCK_ZOOKEEPER_ZOOKEEPER_H
#define SECKILL_LOCK_ZOOKEEPER_ZOOKEEPER_H

#include "backend/backend.h"
#include "lock/lock.h"

struct zookeeper;

enum { ZOOKEEPER_PATH_MAX = LOCK_NAME_MAX };

struct zookeeper_names {
    char **names; /* owned */
    int count;
};

/* Makes sure of a connection; waits for one only while the session is new. *loss tells this
 * connection from those after it. */
bool zookeeper_ready(struct zookeeper *zookeeper, unsigned *loss);

/* `created`, if not NULL, has ZOOKEEPER_PATH_MAX + 1 bytes and gets the node's name. */
int zookeeper_add(struct zookeeper *zookeeper, const char *path, int mode, char *created);
int zookeeper_delete(struct zookeeper *zookeeper, const char *path);
int zookeeper_children(struct zookeeper *zookeeper, const char *path, struct zookeeper_names *out);
void zookeeper_names_fini(struct zookeeper_names *names);
/* ZOK when there is no such node any more, ZOPERATIONTIMEOUT when the time is over. */
int zookeeper_await_gone(struct zookeeper *zookeeper, const char *path, unsigned loss,
                         int64_t until_us);

/* From now on until zookeeper_unhold a lost connection marks the lease lost. False: it was lost
 * already. */
bool zookeeper_hold(struct zookeeper *zookeeper, struct lease *lease, unsigned loss);
void zookeeper_unhold(struct zookeeper *zookeeper, struct lease *lease);
/* How long the server lets the session live without a word. */
int64_t zookeeper_lease_us(struct zookeeper *zookeeper);

/* Deletes the node in `folder` whose name begins with `token`, if there is one, from `due_us` on
 * and until it has succeeded. */
void zookeeper_clear_later(struct zookeeper *zookeeper, const char *folder, const char *token,
                           int64_t due_us);

/* The last failure's text. */
const char *zookeeper_why(struct zookeeper *zookeeper);

#endif
