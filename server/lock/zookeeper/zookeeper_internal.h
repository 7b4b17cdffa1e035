/* Shared by the files of the ZooKeeper session. */
#ifndef SECKILL_LOCK_ZOOKEEPER_ZOOKEEPER_INTERNAL_H
#define SECKILL_LOCK_ZOOKEEPER_ZOOKEEPER_INTERNAL_H

#include "base/connect/resolver.h"
#include "lock/zookeeper/zookeeper.h"

#include <pthread.h>
#include <stdatomic.h>
#include <zookeeper/zookeeper.h>

enum {
    FRESH_US = 2000000, /* how long a session is waited for */
    SERVERS_MAX = 32,
    SERVER_SIZE = RESOLVER_ADDRESS_SIZE + 8
};

struct servers {
    int count;
    char list[SERVERS_MAX][SERVER_SIZE]; /* ADDRESS:PORT */
};

/* A thread that waits for a node to vanish; on its stack. */
struct waiter {
    const char *path;
    bool gone;
    struct waiter *next;
};

struct ghost {
    char folder[ZOOKEEPER_PATH_MAX + 1];
    char token[RANDOM_TOKEN_LENGTH + 1];
    int64_t due_us;
    struct ghost *next;
};

struct zookeeper {
    const struct settings *settings; /* borrowed: app */
    struct resolver *resolver;       /* owned */
    pthread_t janitor;
    atomic_bool stopping;
    struct servers servers; /* the janitor's: what the session was told */
    pthread_mutex_t mutex;  /* of all that follows; never held while the library is closed */
    pthread_cond_t changed;
    zhandle_t *handle; /* NULL: no session */
    bool connected;
    bool expired;       /* the janitor is to close it */
    bool wanted;        /* the janitor is to open one */
    int64_t look_at_us; /* without a connection: when the hosts are looked up */
    unsigned losses;    /* of connections */
    int64_t fresh_until_us;
    int64_t lease_us;
    struct lease *held;
    struct lease *lost; /* whose on_lost is still to be called */
    struct lease *busy; /* the one that it is being called for */
    struct waiter *waiters;
    struct ghost *ghosts;
    const char *why; /* static */
};

/* With the mutex held: there is no connection (any more); what was held is lost. */
void zookeeper_lose_connection(struct zookeeper *zookeeper);
/* With the mutex held: opens one with `servers`, which are addresses. */
void zookeeper_open_session(struct zookeeper *zookeeper);
/* With the mutex held: waits until something has changed or the time is over. */
void zookeeper_wait_changed(struct zookeeper *zookeeper, int64_t until_us);

/* The janitor's, with the mutex held. When the hosts are to be looked up; INT64_MAX: not now. */
int64_t zookeeper_look_at(const struct zookeeper *zookeeper);
/* Looks the hosts up, with the mutex unlocked meanwhile; opens the session that is wanted, or has
 * the one that there is replaced. */
void zookeeper_look_up(struct zookeeper *zookeeper);

#endif
