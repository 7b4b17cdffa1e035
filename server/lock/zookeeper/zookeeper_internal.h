/* Shared by the files of the ZooKeeper session. */
#ifndef SECKILL_LOCK_ZOOKEEPER_ZOOKEEPER_INTERNAL_H
#define SECKILL_LOCK_ZOOKEEPER_ZOOKEEPER_INTERNAL_H

#include "lock/zookeeper/zookeeper.h"

#include <pthread.h>
#include <zookeeper/zookeeper.h>

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
    char *hosts;
    const struct settings *settings; /* borrowed: app */
    pthread_t janitor;
    pthread_mutex_t mutex; /* of all that follows; never held while the library is closed */
    pthread_cond_t changed;
    zhandle_t *handle; /* NULL: no session */
    bool connected;
    bool expired; /* the janitor is to close it */
    bool stopping;
    unsigned losses; /* of connections */
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
/* With the mutex held: waits until something has changed or the time is over. */
void zookeeper_wait_changed(struct zookeeper *zookeeper, int64_t until_us);

#endif
