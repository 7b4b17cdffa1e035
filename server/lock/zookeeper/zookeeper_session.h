/*
 * The session behind zookeeper-lock, with calls that end by a deadline. Codes are ZooKeeper's own.
 * Every call fails at once when there is no connection, and after it is lost. Any thread, any
 * number at once: the library's own threads answer, under the keeper's mutex.
 */
#ifndef SECKILL_LOCK_ZOOKEEPER_ZOOKEEPER_SESSION_H
#define SECKILL_LOCK_ZOOKEEPER_ZOOKEEPER_SESSION_H

#include "lock/zookeeper/zookeeper.h"

enum { KEEPER_PATH_MAX = LOCK_NAME_MAX };

struct keeper_names {
    char **names; /* owned */
    int count;
};

/* Makes sure of a connection; waits for one only while the session is new. *loss tells this
 * connection from those after it. */
bool keeper_ready(struct keeper *keeper, unsigned *loss);

/* `created`, if not NULL, has KEEPER_PATH_MAX + 1 bytes and gets the node's name. */
int keeper_add(struct keeper *keeper, const char *path, int mode, char *created);
int keeper_delete(struct keeper *keeper, const char *path);
int keeper_children(struct keeper *keeper, const char *path, struct keeper_names *out);
void keeper_names_fini(struct keeper_names *names);
/* ZOK when there is no such node any more, ZOPERATIONTIMEOUT when the time is over. */
int keeper_await_gone(struct keeper *keeper, const char *path, unsigned loss, int64_t until_us);

/* From now on until keeper_unhold a lost connection marks the lease lost. False: it was lost
 * already. */
bool keeper_hold(struct keeper *keeper, struct lease *lease, unsigned loss);
void keeper_unhold(struct keeper *keeper, struct lease *lease);
/* How long the server lets the session live without a word. */
int64_t keeper_lease_us(struct keeper *keeper);

/* Deletes the node in `folder` whose name begins with `token`, if there is one, from `due_us` on
 * and until it has succeeded. */
void keeper_clear_later(struct keeper *keeper, const char *folder, const char *token,
                        int64_t due_us);

/* The last failure's text. */
const char *keeper_why(struct keeper *keeper);

#endif
