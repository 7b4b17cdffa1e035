/* Stands in for the locks whose client library was not installed when this was built: rows without
 * functions, so that their strategies are listed as unavailable and nothing is ever called. */
#include "backend/backend.h"
#include "lock/lock.h"

#ifndef SECKILL_MEMCACHED
const struct backend backend_memcached = {
    .name = "memcached",
    .absent = "libmemcached was absent when this server was built (--memcached)",
};
const struct lock lock_memcached = {.name = "memcached-lock"};
#endif

#ifndef SECKILL_ZOOKEEPER
const struct backend backend_zookeeper = {
    .name = "zookeeper",
    .absent = "libzookeeper-mt was absent when this server was built (--zookeeper)",
};
const struct lock lock_zookeeper = {.name = "zookeeper-lock"};
#endif
