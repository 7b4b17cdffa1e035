#include "other_locks_rig.h"

#include "lib/server.h"
#include "lib/stack.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct rig rig;

static void connect_client(struct lock_client *client, int i)
{
    rig.sessions[i][BACKEND_REDLOCK] = backend_redlock.session_open(rig.redlock);
    rig.sessions[i][BACKEND_MEMCACHED] = backend_memcached.session_open(rig.memcached);
    rig.sessions[i][BACKEND_ZOOKEEPER] = rig.zookeepers[i];
    *client = (struct lock_client){.settings = &rig.settings, .sessions = rig.sessions[i]};
}

static void close_sessions(int i)
{
    backend_redlock.session_close(rig.sessions[i][BACKEND_REDLOCK]);
    backend_memcached.session_close(rig.sessions[i][BACKEND_MEMCACHED]);
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
    rig.settings.redlock = stack_redlock();
    rig.settings.memcached = stack_memcached();
    rig.settings.zookeeper = stack_zookeeper();
    rig.redlock = backend_redlock.open(&rig.settings, &error);
    assert_non_null(rig.redlock);
    rig.memcached = backend_memcached.open(&rig.settings, &error);
    assert_non_null(rig.memcached);
    for (int i = 0; i < 2; i++) {
        rig.zookeepers[i] = backend_zookeeper.open(&rig.settings, &error);
        assert_non_null(rig.zookeepers[i]);
    }
    connect_client(&rig.one, 0);
    connect_client(&rig.two, 1);
    return 0;
}

int rig_tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        close_sessions(i);
        backend_zookeeper.close(rig.zookeepers[i]);
    }
    backend_redlock.close(rig.redlock);
    backend_memcached.close(rig.memcached);
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
