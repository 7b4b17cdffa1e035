#include "other_locks_rig.h"

#include "lib/server.h"
#include "lib/stack.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct rig rig;

static void connect_client(struct lock_client *client, struct zookeeper *zookeeper)
{
    *client = (struct lock_client){.settings = &rig.settings,
                                   .redlock = redlock_open(rig.redlock),
                                   .memcache = memcache_open(rig.memcache),
                                   .zookeeper = zookeeper};
}

static void close_client(struct lock_client *client)
{
    redlock_close(client->redlock);
    memcache_close(client->memcache);
}

int rig_set_up(void **state)
{
    (void)state;
    struct error error = {ERROR_NONE, ""};
    static char name[64];
    static int tests;

    memset(&rig, 0, sizeof rig);
    snprintf(name, sizeof name, "other-locks-test-%d-%d", (int)getpid(), ++tests);
    rig.settings.system_name = name;
    rig.settings.lock_ttl_ms = LONG_MS;
    rig.redlock = redlock_create(stack_redlock(), &error);
    assert_non_null(rig.redlock);
    rig.memcache = memcache_create(stack_memcached(), &error);
    assert_non_null(rig.memcache);
    for (int i = 0; i < 2; i++) {
        rig.zookeepers[i] = zookeeper_create(stack_zookeeper(), &rig.settings, &error);
        assert_non_null(rig.zookeepers[i]);
    }
    connect_client(&rig.one, rig.zookeepers[0]);
    connect_client(&rig.two, rig.zookeepers[1]);
    return 0;
}

int rig_tear_down(void **state)
{
    (void)state;
    close_client(&rig.one);
    close_client(&rig.two);
    redlock_destroy(rig.redlock);
    memcache_destroy(rig.memcache);
    zookeeper_destroy(rig.zookeepers[0]);
    zookeeper_destroy(rig.zookeepers[1]);
    return 0;
}

int rig_restore(void **state)
{
    server_teardown(state);
    return stack_restore(state);
}

#ifdef __SANITIZE_THREAD__
/* libzookeeper formats addresses into one static buffer, which two sessions in one process share; a
 * server has one. */
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
    return "race_top:vsprintf\n";
}
#endif
