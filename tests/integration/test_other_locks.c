/*
 * The locks elsewhere, alone, over their real stores: what each one promises, and what becomes of
 * it when the store is away, comes back, or forgets. Two clients stand for two instances.
 */
#include "lib/redis_probe.h"
#include "lib/server.h"
#include "lib/stack.h"
#include "lib/t.h"

#include "base/clock.h"
#include "base/settings.h"
#include "lock/keeper_session.h"
#include "lock/memcache.h"
#include "lock/redlock.h"

#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHORT_MS = 600, LONG_MS = 30000, KEY = 7, NODES = 3 };
#define PATIENCE_US INT64_C(60000000)

/* What must be gone for the store to be gone. */
static const struct row {
    const struct lock *lock;
    const char *servers[2];
} rows[] = {
    {&lock_redlock, {"redlock1", "redlock3"}},
    {&lock_memcached, {"memcached", NULL}},
    {&lock_zookeeper, {"zookeeper", NULL}},
};
enum { ROWS = sizeof rows / sizeof *rows };

static struct rig {
    struct settings settings;
    struct redlock *redlock;
    struct memcache *memcache;
    struct keeper *keepers[2];
    struct lock_client one;
    struct lock_client two;
    struct lease lease;
    struct lease other;
} rig;

static const char *node_name(int i)
{
    static const char *const names[NODES] = {"redlock1", "redlock2", "redlock3"};

    return names[i];
}

static const char *node_url(int i)
{
    static char url[300];
    const char *at = stack_redlock();

    while (i-- > 0)
        at = strchr(at, ',') + 1;
    snprintf(url, sizeof url, "%.*s", (int)strcspn(at, ","), at);
    return url;
}

static void connect_client(struct lock_client *client, struct keeper *keeper)
{
    *client = (struct lock_client){.settings = &rig.settings,
                                   .redlock = redlock_open(rig.redlock),
                                   .memcache = memcache_open(rig.memcache),
                                   .keeper = keeper};
}

static void close_client(struct lock_client *client)
{
    redlock_close(client->redlock);
    memcache_close(client->memcache);
}

static int set_up(void **state)
{
    (void)state;
    struct error error = {ERROR_NONE, ""};
    static char name[64]; /* another one for each test: nobody meets what one left behind */
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
        rig.keepers[i] = keeper_create(stack_zookeeper(), &rig.settings, &error);
        assert_non_null(rig.keepers[i]);
    }
    connect_client(&rig.one, rig.keepers[0]);
    connect_client(&rig.two, rig.keepers[1]);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_client(&rig.one);
    close_client(&rig.two);
    redlock_destroy(rig.redlock);
    memcache_destroy(rig.memcache);
    keeper_destroy(rig.keepers[0]);
    keeper_destroy(rig.keepers[1]);
    return 0;
}

static int64_t in_ms(int64_t ms)
{
    return clock_mono_us() + ms * CLOCK_US_PER_MS;
}

static enum lock_result try_once(const struct lock *lock, struct lock_client *client,
                                 struct lease *lease)
{
    return lock->acquire(client, KEY, true, clock_mono_us(), lease);
}

static enum lock_release let_go(const struct lock *lock, struct lock_client *client,
                                struct lease *lease)
{
    return lock->release(client, lease, clock_mono_us() + PATIENCE_US);
}

static void every_lock_excludes(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        const struct lock *lock = rows[i].lock;
        for (int round = 0; round < 3; round++) {
            assert_int_equal(try_once(lock, &rig.one, &rig.lease), LOCK_OWNED);
            assert_true(lease_holds(&rig.lease));
            assert_int_equal(try_once(lock, &rig.two, &rig.other), LOCK_BUSY);
            /* What the loser has left behind may not be in the owner's way, nor in the next one's.
             */
            assert_int_equal(let_go(lock, &rig.one, &rig.lease), LOCK_RELEASED);
            assert_int_equal(try_once(lock, &rig.two, &rig.other), LOCK_OWNED);
            assert_int_equal(let_go(lock, &rig.two, &rig.other), LOCK_RELEASED);
            assert_int_equal(let_go(lock, &rig.two, &rig.other), LOCK_NOT_OWNER);
        }
    }
}

static void a_stranger_releases_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        const struct lock *lock = rows[i].lock;
        assert_int_equal(try_once(lock, &rig.two, &rig.other), LOCK_OWNED);
        assert_int_equal(let_go(lock, &rig.two, &rig.other), LOCK_RELEASED);
        assert_int_equal(try_once(lock, &rig.one, &rig.lease), LOCK_OWNED);
        assert_int_equal(let_go(lock, &rig.two, &rig.other), LOCK_NOT_OWNER);
        assert_int_equal(try_once(lock, &rig.two, &rig.other), LOCK_BUSY);
        assert_int_equal(let_go(lock, &rig.one, &rig.lease), LOCK_RELEASED);
    }
}

static void two_products_are_two_locks(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        const struct lock *lock = rows[i].lock;
        assert_int_equal(try_once(lock, &rig.one, &rig.lease), LOCK_OWNED);
        assert_int_equal(lock->acquire(&rig.one, KEY + 1, true, clock_mono_us(), &rig.other),
                         LOCK_OWNED);
        assert_int_equal(let_go(lock, &rig.one, &rig.other), LOCK_RELEASED);
        assert_int_equal(let_go(lock, &rig.one, &rig.lease), LOCK_RELEASED);
    }
}

static void a_wait_ends_at_its_deadline(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        const struct lock *lock = rows[i].lock;
        assert_int_equal(try_once(lock, &rig.one, &rig.lease), LOCK_OWNED);
        int64_t until_us = in_ms(250);
        assert_int_equal(lock->acquire(&rig.two, KEY, false, until_us, &rig.other), LOCK_BUSY);
        int64_t late_us = clock_mono_us() - until_us;
        assert_true(late_us >= 0 && late_us < CLOCK_US_PER_S);
        assert_int_equal(let_go(lock, &rig.one, &rig.lease), LOCK_RELEASED);
    }
}

static void a_store_that_is_gone_is_unknown(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        assert_int_equal(try_once(row->lock, &rig.one, &rig.lease), LOCK_OWNED);
        for (int j = 0; j < 2 && row->servers[j]; j++)
            stack_kill(row->servers[j], SIGKILL);
        int64_t begun_us = clock_mono_us();
        assert_int_equal(try_once(row->lock, &rig.two, &rig.other), LOCK_UNKNOWN);
        assert_true(strlen(row->lock->why(&rig.two)) > 0);
        assert_true(clock_mono_us() - begun_us < 5 * CLOCK_US_PER_S);
        assert_int_equal(let_go(row->lock, &rig.one, &rig.lease), LOCK_RELEASE_UNKNOWN);
        stack_up();
        begun_us = clock_mono_us();
        enum lock_result result;
        while ((result = row->lock->acquire(&rig.two, KEY, false, in_ms(LONG_MS), &rig.other)) ==
               LOCK_UNKNOWN)
            assert_true(clock_mono_us() - begun_us < PATIENCE_US);
        assert_int_equal(result, LOCK_OWNED);
        assert_int_equal(let_go(row->lock, &rig.two, &rig.other), LOCK_RELEASED);
    }
}

/* Redlock ---------------------------------------------------------------------------------------
 */

static int64_t votes(const struct lease *lease)
{
    int64_t count = 0;

    for (int i = 0; i < NODES; i++)
        count += redis_probe_at(node_url(i), "EXISTS %s", lease->name);
    return count;
}

static void redlock_waits_out_a_dead_holder(void **state)
{
    (void)state;
    rig.settings.lock_ttl_ms = SHORT_MS;
    int64_t begun_us = clock_mono_us();
    assert_int_equal(try_once(&lock_redlock, &rig.one, &rig.lease), LOCK_OWNED);
    assert_int_equal(votes(&rig.lease), NODES);
    assert_int_equal(lock_redlock.acquire(&rig.two, KEY, false, in_ms(LONG_MS), &rig.other),
                     LOCK_OWNED);
    assert_true(clock_mono_us() - begun_us >= (SHORT_MS - 50) * CLOCK_US_PER_MS);
    assert_false(lease_holds(&rig.lease));
    assert_int_equal(let_go(&lock_redlock, &rig.one, &rig.lease), LOCK_NOT_OWNER);
    assert_int_equal(let_go(&lock_redlock, &rig.two, &rig.other), LOCK_RELEASED);
    assert_int_equal(votes(&rig.other), 0);
}

static void redlock_needs_a_majority(void **state)
{
    (void)state;
    assert_int_equal(try_once(&lock_redlock, &rig.one, &rig.lease), LOCK_OWNED);
    assert_int_equal(let_go(&lock_redlock, &rig.one, &rig.lease), LOCK_RELEASED);
    /* A stranger on one node: two are enough. On two: what one gave is given back. */
    redis_probe_at(node_url(0), "SET %s stranger", rig.lease.name);
    assert_int_equal(try_once(&lock_redlock, &rig.one, &rig.lease), LOCK_OWNED);
    assert_int_equal(let_go(&lock_redlock, &rig.one, &rig.lease), LOCK_RELEASED);
    redis_probe_at(node_url(1), "SET %s stranger", rig.lease.name);
    assert_int_equal(try_once(&lock_redlock, &rig.one, &rig.lease), LOCK_BUSY);
    assert_int_equal(redis_probe_at(node_url(2), "EXISTS %s", rig.lease.name), 0);
    assert_int_equal(votes(&rig.lease), 2);
}

static void redlock_outlives_a_dead_and_a_hanging_node(void **state)
{
    (void)state;
    static const int signals[] = {SIGSTOP, SIGKILL};

    for (int i = 0; i < 2; i++) {
        stack_kill("redlock1", signals[i]);
        int64_t begun_us = clock_mono_us();
        assert_int_equal(try_once(&lock_redlock, &rig.one, &rig.lease), LOCK_OWNED);
        assert_int_equal(try_once(&lock_redlock, &rig.two, &rig.other), LOCK_BUSY);
        assert_int_equal(let_go(&lock_redlock, &rig.one, &rig.lease), LOCK_RELEASED);
        assert_true(clock_mono_us() - begun_us < 5 * CLOCK_US_PER_S);
        if (i == 0)
            stack_kill("redlock1", SIGCONT);
    }
    stack_up();
}

/* What is left of the lease counts from before the first node was asked, less the clocks' drift. */
static void redlock_takes_the_drift_off_the_lease(void **state)
{
    (void)state;
    int64_t begun_us = clock_mono_us();
    assert_int_equal(try_once(&lock_redlock, &rig.one, &rig.lease), LOCK_OWNED);
    int64_t valid_us = atomic_load(&rig.lease.valid_until_us) - begun_us;
    assert_true(valid_us < (LONG_MS - LONG_MS / 100) * CLOCK_US_PER_MS);
    assert_true(valid_us > LONG_MS / 2 * CLOCK_US_PER_MS);
    assert_int_equal(let_go(&lock_redlock, &rig.one, &rig.lease), LOCK_RELEASED);
}

/* One node is away while A gets its majority, another restarts without its keys: B has a majority
 * too. */
static void redlock_has_two_owners_when_a_node_forgets(void **state)
{
    (void)state;
    stack_kill(node_name(2), SIGKILL);
    assert_int_equal(try_once(&lock_redlock, &rig.one, &rig.lease), LOCK_OWNED);
    stack_up();
    assert_int_equal(votes(&rig.lease), 2);
    assert_int_equal(try_once(&lock_redlock, &rig.two, &rig.other), LOCK_BUSY);
    stack_kill(node_name(1), SIGKILL);
    stack_up();
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    while (try_once(&lock_redlock, &rig.two, &rig.other) != LOCK_OWNED)
        assert_true(clock_mono_us() < until_us);
    assert_true(lease_holds(&rig.lease));
    assert_true(lease_holds(&rig.other));
    assert_int_equal(let_go(&lock_redlock, &rig.two, &rig.other), LOCK_RELEASED);
    assert_int_equal(let_go(&lock_redlock, &rig.one, &rig.lease), LOCK_NOT_OWNER);
}

/* Memcached -------------------------------------------------------------------------------------
 */

static void memcached_leases_are_a_second_longer_than_counted_on(void **state)
{
    (void)state;
    rig.settings.lock_ttl_ms = 1000;
    for (int round = 0; round < 3; round++) {
        int64_t begun_us = clock_mono_us();
        assert_int_equal(try_once(&lock_memcached, &rig.one, &rig.lease), LOCK_OWNED);
        assert_int_equal(lock_memcached.acquire(&rig.two, KEY, false, in_ms(LONG_MS), &rig.other),
                         LOCK_OWNED);
        assert_true(clock_mono_us() - begun_us >= 1000 * CLOCK_US_PER_MS);
        assert_false(lease_holds(&rig.lease));
        assert_int_equal(let_go(&lock_memcached, &rig.one, &rig.lease), LOCK_NOT_OWNER);
        assert_int_equal(let_go(&lock_memcached, &rig.two, &rig.other), LOCK_RELEASED);
        /* The next round begins elsewhere in memcached's second. */
        clock_sleep_until(in_ms(370));
    }
}

static void memcached_forgets_when_it_is_restarted(void **state)
{
    (void)state;
    assert_int_equal(try_once(&lock_memcached, &rig.one, &rig.lease), LOCK_OWNED);
    stack_kill("memcached", SIGKILL);
    stack_up();
    assert_int_equal(try_once(&lock_memcached, &rig.two, &rig.other), LOCK_OWNED);
    assert_true(lease_holds(&rig.lease));
    assert_true(lease_holds(&rig.other));
    assert_int_equal(let_go(&lock_memcached, &rig.one, &rig.lease), LOCK_NOT_OWNER);
    assert_int_equal(let_go(&lock_memcached, &rig.two, &rig.other), LOCK_RELEASED);
}

static void a_memcached_that_hangs_is_unknown(void **state)
{
    (void)state;
    assert_int_equal(try_once(&lock_memcached, &rig.one, &rig.lease), LOCK_OWNED);
    stack_kill("memcached", SIGSTOP);
    int64_t begun_us = clock_mono_us();
    assert_int_equal(try_once(&lock_memcached, &rig.two, &rig.other), LOCK_UNKNOWN);
    assert_int_equal(let_go(&lock_memcached, &rig.one, &rig.lease), LOCK_RELEASE_UNKNOWN);
    assert_true(clock_mono_us() - begun_us < 10 * CLOCK_US_PER_S);
    /* It would go on with what it was sent. */
    stack_kill("memcached", SIGKILL);
    stack_up();
}

/* The lock was given and the answer lost: on a connection that worked the token tells, on a new one
 * it is given back. */
static void a_lost_answer_of_memcached_locks_nobody_out(void **state)
{
    (void)state;
    assert_int_equal(try_once(&lock_memcached, &rig.one, &rig.lease), LOCK_OWNED); /* passage 1 */
    assert_int_equal(let_go(&lock_memcached, &rig.one, &rig.lease), LOCK_RELEASED);
    assert_int_equal(try_once(&lock_memcached, &rig.one, &rig.lease), LOCK_OWNED); /* lost, again */
    assert_int_equal(let_go(&lock_memcached, &rig.one, &rig.lease), LOCK_RELEASED);
    assert_int_equal(try_once(&lock_memcached, &rig.two, &rig.other), LOCK_UNKNOWN); /* lost */
    assert_int_equal(try_once(&lock_memcached, &rig.one, &rig.lease), LOCK_OWNED);
    assert_int_equal(let_go(&lock_memcached, &rig.one, &rig.lease), LOCK_RELEASED);
}

/* ZooKeeper -------------------------------------------------------------------------------------
 */

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

    the->result = lock_zookeeper.acquire(the->client, KEY, false, the->until_us, &the->lease);
    atomic_store(&the->done, true);
    return NULL;
}

/* How many nodes stand under the lock of KEY. */
static int line_length(void)
{
    char folder[KEEPER_PATH_MAX + 1];
    struct keeper_names names;
    unsigned loss;

    assert_true(keeper_ready(rig.keepers[0], &loss));
    snprintf(folder, sizeof folder, "/%s:lock:zookeeper-lock:%d", rig.settings.system_name, KEY);
    if (keeper_children(rig.keepers[0], folder, &names) != 0)
        return 0;
    int count = names.count;
    keeper_names_fini(&names);
    return count;
}

static void wait_line(int length)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;

    while (line_length() != length) {
        assert_true(clock_mono_us() < until_us);
        clock_sleep_until(in_ms(5));
    }
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

static void zookeeper_keeps_the_locks_of_one_session_apart(void **state)
{
    (void)state;
    assert_int_equal(try_once(&lock_zookeeper, &rig.one, &rig.lease), LOCK_OWNED);
    assert_int_equal(try_once(&lock_zookeeper, &rig.one, &rig.other), LOCK_BUSY);
    assert_int_equal(let_go(&lock_zookeeper, &rig.one, &rig.lease), LOCK_RELEASED);
    assert_int_equal(line_length(), 0);
}

/* With leases of half a minute: only a watch can end the waits so early, and in this order. */
static void zookeeper_serves_in_the_order_of_coming(void **state)
{
    (void)state;
    static struct waiting first;
    static struct waiting second;
    int64_t begun_us = clock_mono_us();

    assert_int_equal(try_once(&lock_zookeeper, &rig.one, &rig.lease), LOCK_OWNED);
    begin_waiting(&first, &rig.two, LONG_MS, 2);
    begin_waiting(&second, &rig.one, LONG_MS, 3);
    assert_int_equal(let_go(&lock_zookeeper, &rig.one, &rig.lease), LOCK_RELEASED);
    assert_int_equal(end_waiting(&first), LOCK_OWNED);
    assert_false(atomic_load(&second.done));
    assert_int_equal(let_go(&lock_zookeeper, &rig.two, &first.lease), LOCK_RELEASED);
    assert_int_equal(end_waiting(&second), LOCK_OWNED);
    assert_int_equal(let_go(&lock_zookeeper, &rig.one, &second.lease), LOCK_RELEASED);
    assert_true(clock_mono_us() - begun_us < LONG_MS / 2 * CLOCK_US_PER_MS);
}

/* The one before has given up, the one before that still owns. */
static void zookeeper_looks_again_when_the_one_before_vanishes(void **state)
{
    (void)state;
    static struct waiting impatient;
    static struct waiting patient;

    assert_int_equal(try_once(&lock_zookeeper, &rig.one, &rig.lease), LOCK_OWNED);
    begin_waiting(&impatient, &rig.two, 300, 2);
    begin_waiting(&patient, &rig.two, 1500, 3);
    assert_int_equal(end_waiting(&impatient), LOCK_BUSY);
    assert_int_equal(end_waiting(&patient), LOCK_BUSY);
    assert_int_equal(line_length(), 1);
    assert_int_equal(let_go(&lock_zookeeper, &rig.one, &rig.lease), LOCK_RELEASED);
}

static void count(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static void a_lost_connection_is_a_lost_lease(void **state)
{
    (void)state;
    static struct waiting waiting;
    atomic_int told = 0;
    int64_t begun_us = clock_mono_us();

    rig.lease.on_lost = count;
    rig.lease.on_lost_context = &told;
    assert_int_equal(try_once(&lock_zookeeper, &rig.one, &rig.lease), LOCK_OWNED);
    begin_waiting(&waiting, &rig.two, LONG_MS, 2);
    stack_kill("zookeeper", SIGKILL);
    assert_int_equal(end_waiting(&waiting), LOCK_UNKNOWN);
    while (!atomic_load(&told))
        assert_true(clock_mono_us() - begun_us < PATIENCE_US);
    assert_false(lease_holds(&rig.lease));
    assert_int_equal(let_go(&lock_zookeeper, &rig.one, &rig.lease), LOCK_RELEASE_UNKNOWN);
    stack_up();
    /* Both sessions live on for half a minute, and yet their nodes go. */
    unsigned loss;
    while (!keeper_ready(rig.keepers[0], &loss))
        assert_true(clock_mono_us() - begun_us < PATIENCE_US);
    wait_line(0);
    assert_true(clock_mono_us() - begun_us < LONG_MS * CLOCK_US_PER_MS);
    assert_int_equal(atomic_load(&told), 1);
}

static void zookeeper_ends_an_abandoned_lease(void **state)
{
    (void)state;
    rig.settings.lock_ttl_ms = SHORT_MS;
    int64_t begun_us = clock_mono_us();
    assert_int_equal(try_once(&lock_zookeeper, &rig.one, &rig.lease), LOCK_OWNED);
    lock_zookeeper.abandon(&rig.one, &rig.lease);
    assert_int_equal(try_once(&lock_zookeeper, &rig.two, &rig.other), LOCK_BUSY);
    assert_int_equal(lock_zookeeper.acquire(&rig.two, KEY, false, in_ms(LONG_MS), &rig.other),
                     LOCK_OWNED);
    assert_true(clock_mono_us() - begun_us >= SHORT_MS * CLOCK_US_PER_MS);
    assert_int_equal(let_go(&lock_zookeeper, &rig.two, &rig.other), LOCK_RELEASED);
}

static int finish(void **state)
{
    server_teardown(state);
    return stack_restore(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#ifdef __SANITIZE_THREAD__
/* libzookeeper formats addresses into one static buffer, which two sessions in one process share; a
 * server has one. */
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
    return "race_top:vsprintf\n";
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_lost_answer_of_memcached_locks_nobody_out),
        TEST(every_lock_excludes),
        TEST(a_stranger_releases_nothing),
        TEST(two_products_are_two_locks),
        TEST(a_wait_ends_at_its_deadline),
        TEST(redlock_waits_out_a_dead_holder),
        TEST(redlock_needs_a_majority),
        TEST(redlock_outlives_a_dead_and_a_hanging_node),
        TEST(redlock_takes_the_drift_off_the_lease),
        TEST(redlock_has_two_owners_when_a_node_forgets),
        TEST(memcached_leases_are_a_second_longer_than_counted_on),
        TEST(memcached_forgets_when_it_is_restarted),
        TEST(a_memcached_that_hangs_is_unknown),
        TEST(zookeeper_keeps_the_locks_of_one_session_apart),
        TEST(zookeeper_serves_in_the_order_of_coming),
        TEST(zookeeper_looks_again_when_the_one_before_vanishes),
        TEST(zookeeper_ends_an_abandoned_lease),
        TEST(a_lost_connection_is_a_lost_lease),
        TEST(a_store_that_is_gone_is_unknown),
    };

    stack_need_other_locks();
    const char *only = getenv("SECKILL_TEST_ONLY");

    signal(SIGPIPE, SIG_IGN);
    /* Passages are counted from the first test on, whose they are. */
    if (!only || fnmatch(only, "a_lost_answer_of_memcached_locks_nobody_out", 0) == 0)
        setenv("SECKILL_FAILPOINTS", "memcached.reply=fail@2,memcached.reply=fail@4", 1);
    return cmocka_run_group_tests(tests, NULL, finish);
}
