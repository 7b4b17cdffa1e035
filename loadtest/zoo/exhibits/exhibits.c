/* See exhibits.h. */
#include "loadtest/zoo/exhibits/exhibits.h"

#include <string.h>

const struct zoo_exhibit *const zoo_exhibits[] = {
    &zoo_none,           &zoo_local_lock,     &zoo_lock_row,
    &zoo_redis_setnx,    &zoo_redis_getset,   &zoo_redis_expiry,
    &zoo_redis_uuid,     &zoo_redis_token,    &zoo_redis_reentrant,
    &zoo_redis_watchdog, &zoo_redlock,        &zoo_wllock,
    &zoo_memcached_lock, &zoo_zookeeper_lock, &zoo_redis_stock,
};
const size_t zoo_exhibits_count = sizeof zoo_exhibits / sizeof zoo_exhibits[0];

const struct zoo_exhibit *zoo_find(const char *name)
{
    for (size_t i = 0; i < zoo_exhibits_count; i++) {
        if (strcmp(zoo_exhibits[i]->unsafe.strategy, name) == 0)
            return zoo_exhibits[i];
    }
    return NULL;
}
