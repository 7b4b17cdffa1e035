/*
 * zookeeper-lock's recipe, alone, over a real ZooKeeper: the line, the watch on the one before, and
 * what becomes of a lease whose session or connection is lost.
 */
#include "lock_clients.h"

#include "lib/stack.h"

#include "base/failpoint.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Somebody who waits in a thread of their own. */
struct waiting {
    pthread_t thread;
    struct lock_client *client;
    int64_t until_us;
    struct lease lease;
    enum lock_result result;
    atomic_bool done;
};

static void *wait_in_line(void *argument)
{
    struct waiting *the = argument;

    the->result =
        lock_acquire(&lock_zookeeper, the->client, LOCK_KEY, false, the->until_us, &the->lease);
    atomic_store(&the->done, true);
    return NULL;
}

/* How many nodes stand under the lock of LOCK_KEY. */
static int line_length(void)
{
    char folder[ZOOKEEPER_PATH_MAX + 1];
    struct zookeeper_names names;
    unsigned loss;

    assert_true(zookeeper_ready(clients.zookeepers[0], &loss));
    snprintf(folder, sizeof folder, "/%s:lock:zookeeper-lock:%d", clients.settings.system_name,
             LOCK_KEY);
    if (zookeeper_children(clients.zookeepers[0], folder, &names) != 0)
        return 0;
    int count = names.count;
    zookeeper_names_fini(&names);
    return count;
}

static void wait_line(int length)
{
    T_UNTIL(line_length() == length);
}

/* Returns when it stands in line as number `place`. */
static void begin_waiting(struct waiting *the, struct lock_client *client, int64_t ms, int place)
{
    *the = (struct waiting){.client = client, .until_us = in_ms(ms)};
    assert_int_equal(pthread_create(&the->thread, NULL, wait_in_line, the), 0);
    wait_line(place);
}

static enum lock_result end_waiting(struct waiting *the)
{
    assert_int_equal(pthread_join(the->thread, NULL), 0);
    return the->result;
}

TEST(zookeeper_keeps_the_locks_of_one_session_apart)
{
    assert_int_equal(lock_try(&lock_zookeeper, &clients.one, &clients.lease), LOCK_OWNED);
    assert_int_equal(lock_try(&lock_zookeeper, &clients.one, &clients.other), LOCK_BUSY);
    assert_int_equal(lock_let_go(&lock_zookeeper, &clients.one, &clients.lease), LOCK_RELEASED);
    assert_int_equal(line_length(), 0);
}

/* With leases of half a minute: only a watch can end the waits so early, and in this order. */
TEST(zookeeper_serves_in_the_order_of_coming)
{
    static struct waiting first;
    static struct waiting second;
    int64_t begun_us = clock_mono_us();

    assert_int_equal(lock_try(&lock_zookeeper, &clients.one, &clients.lease), LOCK_OWNED);
    begin_waiting(&first, &clients.two, LONG_MS, 2);
    begin_waiting(&second, &clients.one, LONG_MS, 3);
    assert_int_equal(lock_let_go(&lock_zookeeper, &clients.one, &clients.lease), LOCK_RELEASED);
    assert_int_equal(end_waiting(&first), LOCK_OWNED);
    assert_false(atomic_load(&second.done));
    assert_int_equal(lock_let_go(&lock_zookeeper, &clients.two, &first.lease), LOCK_RELEASED);
    assert_int_equal(end_waiting(&second), LOCK_OWNED);
    assert_int_equal(lock_let_go(&lock_zookeeper, &clients.one, &second.lease), LOCK_RELEASED);
    assert_true(clock_mono_us() - begun_us < LONG_MS * 5 / 6 * CLOCK_US_PER_MS);
}

/* The one before has given up, the one before that still owns. */
TEST(zookeeper_looks_again_when_the_one_before_vanishes)
{
    static struct waiting impatient;
    static struct waiting patient;

    assert_int_equal(lock_try(&lock_zookeeper, &clients.one, &clients.lease), LOCK_OWNED);
    begin_waiting(&impatient, &clients.two, 4000, 2);
    begin_waiting(&patient, &clients.two, 8000, 3);
    assert_int_equal(end_waiting(&impatient), LOCK_BUSY);
    assert_int_equal(end_waiting(&patient), LOCK_BUSY);
    assert_int_equal(line_length(), 1);
    assert_int_equal(lock_let_go(&lock_zookeeper, &clients.one, &clients.lease), LOCK_RELEASED);
}

static void count(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

TEST(a_lost_connection_is_a_lost_lease)
{
    static struct waiting waiting;
    atomic_int told = 0;
    int64_t begun_us = clock_mono_us();

    clients.lease.on_lost = count;
    clients.lease.on_lost_context = &told;
    assert_int_equal(lock_try(&lock_zookeeper, &clients.one, &clients.lease), LOCK_OWNED);
    begin_waiting(&waiting, &clients.two, LONG_MS, 2);
    stack_kill("zookeeper", SIGKILL);
    assert_int_equal(end_waiting(&waiting), LOCK_UNKNOWN);
    while (!atomic_load(&told))
        assert_true(clock_mono_us() - begun_us < LOCK_PATIENCE_US);
    assert_false(lease_holds(&clients.lease));
    assert_int_equal(lock_let_go(&lock_zookeeper, &clients.one, &clients.lease),
                     LOCK_RELEASE_UNKNOWN);
    stack_up();
    /* Both sessions live on for half a minute from when it serves again, and yet their nodes go. */
    unsigned loss;
    while (!zookeeper_ready(clients.zookeepers[0], &loss))
        assert_true(clock_mono_us() - begun_us < LOCK_PATIENCE_US);
    begun_us = clock_mono_us();
    wait_line(0);
    assert_true(clock_mono_us() - begun_us < LONG_MS * 5 / 6 * CLOCK_US_PER_MS);
    assert_int_equal(atomic_load(&told), 1);
}

TEST(zookeeper_ends_an_abandoned_lease)
{
    enum { ABANDONED_MS = 4000 };
    unsigned loss;

    clients.settings.lock_ttl_ms = ABANDONED_MS;
    /* Its session takes none of the lease's time. */
    assert_true(zookeeper_ready(clients.zookeepers[1], &loss));
    int64_t begun_us = clock_mono_us();
    assert_int_equal(lock_try(&lock_zookeeper, &clients.one, &clients.lease), LOCK_OWNED);
    lock_zookeeper.abandon(&clients.one, &clients.lease);
    assert_int_equal(lock_try(&lock_zookeeper, &clients.two, &clients.other), LOCK_BUSY);
    assert_int_equal(lock_acquire(&lock_zookeeper, &clients.two, LOCK_KEY, false, in_ms(LONG_MS),
                                  &clients.other),
                     LOCK_OWNED);
    assert_true(clock_mono_us() - begun_us >= ABANDONED_MS * CLOCK_US_PER_MS);
    assert_int_equal(lock_let_go(&lock_zookeeper, &clients.two, &clients.other), LOCK_RELEASED);
}

/* The first look-up of a name takes longer than opening a session may; the server behind it is the
 * only one that is there. */
TEST(servers_that_are_found_later_are_used)
{
    struct settings settings = clients.settings;
    struct error error = {ERROR_NONE, ""};
    char hosts[128];
    unsigned loss;

    snprintf(hosts, sizeof hosts, "127.0.0.1:1,localhost%s", strchr(settings.zookeeper, ':'));
    settings.zookeeper = hosts;
    struct zookeeper *zookeeper = backend_zookeeper.open(&settings, &error);
    assert_non_null(zookeeper);
    assert_false(zookeeper_ready(zookeeper, &loss));
    T_UNTIL(zookeeper_ready(zookeeper, &loss));
    backend_zookeeper.close(zookeeper);
}

TEST_EACH(clients_set_up, clients_tear_down)

int main(void)
{
    setenv("SECKILL_FAILPOINTS", "resolver.ask=pause:1500", 1);
    assert_true(failpoint_check(getenv("SECKILL_FAILPOINTS")));

    stack_need_other_locks();
    signal(SIGPIPE, SIG_IGN);
    return t_run_all(NULL, clients_restore);
}
