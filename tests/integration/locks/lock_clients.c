#include "lock_clients.h"

#include "lib/server.h"
#include "lib/stack.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct clients clients;

static void connect_client(struct lock_client *client, int i)
{
    clients.sessions[i][BACKEND_REDLOCK] = backend_redlock.session_open(clients.redlock);
    clients.sessions[i][BACKEND_MEMCACHED] = backend_memcached.session_open(clients.memcached);
    clients.sessions[i][BACKEND_ZOOKEEPER] = clients.zookeepers[i];
    *client = (struct lock_client){.settings = &clients.settings, .sessions = clients.sessions[i]};
}

static void close_sessions(int i)
{
    backend_redlock.session_close(clients.sessions[i][BACKEND_REDLOCK]);
    backend_memcached.session_close(clients.sessions[i][BACKEND_MEMCACHED]);
}

int clients_set_up(void **state)
{
    (void)state;
    struct error error = {ERROR_NONE, ""};
    static char name[64];
    static int tests;

    memset(&clients, 0, sizeof clients);
    snprintf(name, sizeof name, "other-locks-test-%d-%d", (int)getpid(), ++tests);
    clients.settings.system_name = name;
    clients.settings.lock_ttl_ms = LONG_MS;
    clients.settings.redlock = stack_redlock();
    clients.settings.memcached = stack_memcached();
    clients.settings.zookeeper = stack_zookeeper();
    clients.redlock = backend_redlock.open(&clients.settings, &error);
    assert_non_null(clients.redlock);
    clients.memcached = backend_memcached.open(&clients.settings, &error);
    assert_non_null(clients.memcached);
    for (int i = 0; i < 2; i++) {
        clients.zookeepers[i] = backend_zookeeper.open(&clients.settings, &error);
        assert_non_null(clients.zookeepers[i]);
    }
    connect_client(&clients.one, 0);
    connect_client(&clients.two, 1);
    return 0;
}

int clients_tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        close_sessions(i);
        backend_zookeeper.close(clients.zookeepers[i]);
    }
    backend_redlock.close(clients.redlock);
    backend_memcached.close(clients.memcached);
    return 0;
}

int clients_restore(void **state)
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
