/* Stands in for the locks whose client library was not installed when this was built. Their
 * strategies are listed as unavailable, so nothing but the _built functions is ever called. */
#include "lock/memcache.h"
#include "lock/zookeeper/zookeeper.h"

#ifndef SECKILL_MEMCACHED
bool memcache_built(void)
{
    return false;
}

struct memcache *memcache_create(const char *address, struct error *error)
{
    error_set(error, ERROR_UNSUITABLE, "%s: built without libmemcached", address);
    return NULL;
}

void memcache_destroy(struct memcache *memcache)
{
    (void)memcache;
}

bool memcache_up(const struct memcache *memcache)
{
    return memcache != NULL;
}

struct memcache_session *memcache_open(struct memcache *memcache)
{
    (void)memcache;
    return NULL;
}

void memcache_close(struct memcache_session *session)
{
    (void)session;
}

const struct lock lock_memcached = {.name = "memcached-lock"};
#endif

#ifndef SECKILL_ZOOKEEPER
bool zookeeper_built(void)
{
    return false;
}

struct zookeeper *zookeeper_create(const char *hosts, const struct settings *settings,
                                   struct error *error)
{
    (void)settings;
    error_set(error, ERROR_UNSUITABLE, "%s: built without libzookeeper-mt", hosts);
    return NULL;
}

void zookeeper_destroy(struct zookeeper *zookeeper)
{
    (void)zookeeper;
}

bool zookeeper_up(struct zookeeper *zookeeper)
{
    return zookeeper != NULL;
}

const struct lock lock_zookeeper = {.name = "zookeeper-lock"};
#endif
