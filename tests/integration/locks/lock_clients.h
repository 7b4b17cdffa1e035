/*
 * Two clients of the locks elsewhere, over their real stores, standing for two instances. Each test
 * gets them anew, under a name that no other has used, so nobody meets what one left behind.
 */
#ifndef SECKILL_TESTS_INTEGRATION_LOCKS_LOCK_CLIENTS_H
#define SECKILL_TESTS_INTEGRATION_LOCKS_LOCK_CLIENTS_H

#include "lib/t.h"

#include "lock/zookeeper/zookeeper.h"
#include "lock_calls.h"
#include "settings/settings.h"

enum { LONG_MS = 30000 }; /* the lease, unless a test says otherwise */

extern struct clients {
    struct settings settings;
    void *redlock;
    void *memcached;
    void *zookeepers[2];
    struct lock_client one;
    struct lock_client two;
    void *sessions[2][BACKEND_COUNT]; /* theirs */
    struct lease lease;               /* for the test to use, of `one` and `two` */
    struct lease other;
} clients;

int clients_set_up(void **state);
int clients_tear_down(void **state);
int clients_restore(void **state); /* at the end: every server of the stack runs again */

#endif
