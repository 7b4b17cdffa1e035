/*
 * A session with ZooKeeper, in its own protocol (zookeeper.jute, as ZooKeeper 3.4 and later speak
 * it): the few requests that a lock makes, one at a time and without watches. It is a socket, so
 * that the harness needs no library for one exhibit, and so that a session can be ended as its
 * server would end it.
 */
#ifndef SECKILL_LOADTEST_ZOO_BACKENDS_ZK_H
#define SECKILL_LOADTEST_ZOO_BACKENDS_ZK_H

#include "base/error.h"

#include <stdint.h>

enum { ZK_NAME_SIZE = 128, ZK_PASSWORD = 16 };
enum zk_mode { ZK_STAYS = 0, ZK_EPHEMERAL_SEQUENTIAL = 3 };
enum zk_code {
    ZK_OK,
    ZK_NO_NODE,
    ZK_EXISTS,
    ZK_SESSION_LOST, /* expired, or the connection is gone */
    ZK_FAILED        /* with the error */
};

struct zk {
    int socket; /* 0: not open */
    int32_t requests;
    int64_t session;
    unsigned char password[ZK_PASSWORD];
};

bool zk_is_open(const struct zk *zk);
/* HOST:PORT, or several with commas between them, of which the first is taken. */
bool zk_open(struct zk *zk, const char *address, struct error *error);
/* Ends the session, and with it its ephemeral nodes. */
void zk_close(struct zk *zk);

/* `made` gets the node's whole path, which a sequential one's ends with its number. */
enum zk_code zk_create(struct zk *zk, const char *path, enum zk_mode mode, char made[ZK_NAME_SIZE],
                       struct error *error);
enum zk_code zk_delete(struct zk *zk, const char *path, struct error *error);
/* The child with the lowest number behind its last '-'; "": there is none. */
enum zk_code zk_lowest(struct zk *zk, const char *path, char lowest[ZK_NAME_SIZE],
                       struct error *error);

/* Ends the session over another connection, as the server does when nothing was heard of it: its
 * owner is not asked, and learns of it when it asks next. */
bool zk_expire(const struct zk *zk, const char *address, struct error *error);

#endif
