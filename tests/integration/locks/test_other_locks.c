/*
 * The locks elsewhere, alone, over their real stores: what each one promises, and what becomes of
 * it when the store is away, comes back, or forgets. Two clients stand for two instances.
 */
#include "lock_clients.h"

#include "lib/redis/redis_probe.h"
#include "lib/stack.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3 };

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

/* The first test of all, whose failpoint counts passages. The lock was given and the answer lost:
 * on a connection that worked the token tells, on a new one it is given back. */
TEST(a_lost_answer_of_memcached_locks_nobody_out)
{
    assert_int_equal(lock_try(&lock_memcached, &clients.one, &clients.lease),
                     LOCK_OWNED); /* passage 1 */
    assert_int_equal(lock_let_go(&lock_memcached, &clients.one, &clients.lease), LOCK_RELEASED);
    assert_int_equal(lock_try(&lock_memcached, &clients.one, &clients.lease),
                     LOCK_OWNED); /* lost, again */
    assert_int_equal(lock_let_go(&lock_memcached, &clients.one, &clients.lease), LOCK_RELEASED);
    assert_int_equal(lock_try(&lock_memcached, &clients.two, &clients.other),
                     LOCK_UNKNOWN); /* lost */
    assert_int_equal(lock_try(&lock_memcached, &clients.one, &clients.lease), LOCK_OWNED);
    assert_int_equal(lock_let_go(&lock_memcached, &clients.one, &clients.lease), LOCK_RELEASED);
}

TEST(every_lock_excludes)
{
    for (int i = 0; i < ROWS; i++) {
        const struct lock *lock = rows[i].lock;
        for (int round = 0; round < 3; round++) {
            assert_int_equal(lock_try(lock, &clients.one, &clients.lease), LOCK_OWNED);
            assert_true(lease_holds(&clients.lease));
            assert_int_equal(lock_try(lock, &clients.two, &clients.other), LOCK_BUSY);
            /* What the loser has left behind may not be in the owner's way, nor in the next one's.
             */
            assert_int_equal(lock_let_go(lock, &clients.one, &clients.lease), LOCK_RELEASED);
            assert_int_equal(lock_try(lock, &clients.two, &clients.other), LOCK_OWNED);
            assert_int_equal(lock_let_go(lock, &clients.two, &clients.other), LOCK_RELEASED);
            assert_int_equal(lock_let_go(lock, &clients.two, &clients.other), LOCK_NOT_OWNER);
        }
    }
}

TEST(a_stranger_releases_nothing)
{
    for (int i = 0; i < ROWS; i++) {
        const struct lock *lock = rows[i].lock;
        assert_int_equal(lock_try(lock, &clients.two, &clients.other), LOCK_OWNED);
        assert_int_equal(lock_let_go(lock, &clients.two, &clients.other), LOCK_RELEASED);
        assert_int_equal(lock_try(lock, &clients.one, &clients.lease), LOCK_OWNED);
        assert_int_equal(lock_let_go(lock, &clients.two, &clients.other), LOCK_NOT_OWNER);
        assert_int_equal(lock_try(lock, &clients.two, &clients.other), LOCK_BUSY);
        assert_int_equal(lock_let_go(lock, &clients.one, &clients.lease), LOCK_RELEASED);
    }
}

TEST(two_products_are_two_locks)
{
    for (int i = 0; i < ROWS; i++) {
        const struct lock *lock = rows[i].lock;
        assert_int_equal(lock_try(lock, &clients.one, &clients.lease), LOCK_OWNED);
        assert_int_equal(
            lock_acquire(lock, &clients.one, LOCK_KEY + 1, true, clock_mono_us(), &clients.other),
            LOCK_OWNED);
        assert_int_equal(lock_let_go(lock, &clients.one, &clients.other), LOCK_RELEASED);
        assert_int_equal(lock_let_go(lock, &clients.one, &clients.lease), LOCK_RELEASED);
    }
}

TEST(a_wait_ends_at_its_deadline)
{
    for (int i = 0; i < ROWS; i++) {
        const struct lock *lock = rows[i].lock;
        assert_int_equal(lock_try(lock, &clients.one, &clients.lease), LOCK_OWNED);
        int64_t until_us = in_ms(250);
        assert_int_equal(
            lock_acquire(lock, &clients.two, LOCK_KEY, false, until_us, &clients.other), LOCK_BUSY);
        int64_t late_us = clock_mono_us() - until_us;
        assert_true(late_us >= 0 && late_us < 10 * CLOCK_US_PER_S);
        assert_int_equal(lock_let_go(lock, &clients.one, &clients.lease), LOCK_RELEASED);
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

/* Whether the first client has the lock, by so many votes: a node that is late has none. */
static bool is_owned_by(int64_t nodes)
{
    if (lock_try(&lock_redlock, &clients.one, &clients.lease) == LOCK_OWNED &&
        votes(&clients.lease) == nodes)
        return true;
    lock_let_go(&lock_redlock, &clients.one, &clients.lease);
    return false;
}

/* So is a release that not enough have answered. */
static void give_back(void)
{
    assert_int_not_equal(lock_let_go(&lock_redlock, &clients.one, &clients.lease), LOCK_NOT_OWNER);
}

/* The second client is told so, once enough nodes have answered. */
static bool is_busy(void)
{
    enum lock_result result = lock_try(&lock_redlock, &clients.two, &clients.other);

    assert_int_not_equal(result, LOCK_OWNED);
    return result == LOCK_BUSY;
}

TEST(redlock_waits_out_a_dead_holder)
{
    enum { HELD_MS = 4000 }; /* the shortest that gives a node all of its patience */

    clients.settings.lock_ttl_ms = HELD_MS;
    T_UNTIL(is_owned_by(NODES));
    int64_t ends_us = atomic_load(&clients.lease.valid_until_us);
    clients.settings.lock_ttl_ms = LONG_MS;
    assert_int_equal(
        lock_acquire(&lock_redlock, &clients.two, LOCK_KEY, false, in_ms(LONG_MS), &clients.other),
        LOCK_OWNED);
    assert_true(clock_mono_us() >= ends_us);
    assert_false(lease_holds(&clients.lease));
    assert_int_equal(lock_let_go(&lock_redlock, &clients.one, &clients.lease), LOCK_NOT_OWNER);
    assert_int_equal(lock_let_go(&lock_redlock, &clients.two, &clients.other), LOCK_RELEASED);
    assert_int_equal(votes(&clients.other), 0);
}

TEST(redlock_needs_a_majority)
{
    assert_int_equal(lock_try(&lock_redlock, &clients.one, &clients.lease), LOCK_OWNED);
    assert_int_equal(lock_let_go(&lock_redlock, &clients.one, &clients.lease), LOCK_RELEASED);
    /* A stranger on one node: two are enough. On two: what one gave is given back. */
    redis_probe_at(node_url(0), "SET %s stranger", clients.lease.name);
    T_UNTIL(is_owned_by(NODES));
    give_back();
    redis_probe_at(node_url(1), "SET %s stranger", clients.lease.name);
    assert_int_equal(lock_try(&lock_redlock, &clients.one, &clients.lease), LOCK_BUSY);
    assert_int_equal(redis_probe_at(node_url(2), "EXISTS %s", clients.lease.name), 0);
    assert_int_equal(votes(&clients.lease), 2);
}

TEST(redlock_outlives_a_dead_and_a_hanging_node)
{
    static const int signals[] = {SIGSTOP, SIGKILL};

    for (int i = 0; i < 2; i++) {
        stack_kill("redlock1", signals[i]);
        int64_t begun_us = clock_mono_us();
        T_UNTIL(lock_try(&lock_redlock, &clients.one, &clients.lease) == LOCK_OWNED);
        T_UNTIL(is_busy());
        give_back();
        assert_true(clock_mono_us() - begun_us < 20 * CLOCK_US_PER_S);
        if (i == 0)
            stack_kill("redlock1", SIGCONT);
    }
    stack_up();
}

/* The lease counts from before the first node was asked, less the clocks' drift. */
TEST(redlock_takes_the_drift_off_the_lease)
{
    assert_int_equal(lock_try(&lock_redlock, &clients.one, &clients.lease), LOCK_OWNED);
    int64_t valid_us = atomic_load(&clients.lease.valid_until_us) - clock_mono_us();
    assert_true(valid_us < (LONG_MS - LONG_MS / 100) * CLOCK_US_PER_MS);
    assert_true(valid_us > LONG_MS / 2 * CLOCK_US_PER_MS);
    assert_int_equal(lock_let_go(&lock_redlock, &clients.one, &clients.lease), LOCK_RELEASED);
    assert_int_equal(votes(&clients.lease), 0);
}

/* One node is away while A gets its majority, another restarts without its keys: B has a majority
 * too. */
TEST(redlock_has_two_owners_when_a_node_forgets)
{
    stack_kill(node_name(2), SIGKILL);
    T_UNTIL(lock_try(&lock_redlock, &clients.one, &clients.lease) == LOCK_OWNED);
    stack_up();
    assert_int_equal(votes(&clients.lease), 2);
    T_UNTIL(is_busy());
    stack_kill(node_name(1), SIGKILL);
    stack_up();
    T_UNTIL(lock_try(&lock_redlock, &clients.two, &clients.other) == LOCK_OWNED);
    assert_true(lease_holds(&clients.lease));
    assert_true(lease_holds(&clients.other));
    assert_int_equal(lock_let_go(&lock_redlock, &clients.two, &clients.other), LOCK_RELEASED);
    assert_int_equal(lock_let_go(&lock_redlock, &clients.one, &clients.lease), LOCK_NOT_OWNER);
}

/* Memcached -------------------------------------------------------------------------------------
 */

TEST(memcached_leases_are_longer_than_counted_on)
{
    clients.settings.lock_ttl_ms = 1000;
    for (int round = 0; round < 3; round++) {
        int64_t begun_us = clock_mono_us();
        assert_int_equal(lock_try(&lock_memcached, &clients.one, &clients.lease), LOCK_OWNED);
        assert_int_equal(lock_acquire(&lock_memcached, &clients.two, LOCK_KEY, false,
                                      in_ms(LONG_MS), &clients.other),
                         LOCK_OWNED);
        assert_true(clock_mono_us() - begun_us >= 1000 * CLOCK_US_PER_MS);
        assert_false(lease_holds(&clients.lease));
        assert_int_equal(lock_let_go(&lock_memcached, &clients.one, &clients.lease),
                         LOCK_NOT_OWNER);
        assert_int_equal(lock_let_go(&lock_memcached, &clients.two, &clients.other), LOCK_RELEASED);
        /* The next round begins elsewhere in memcached's second. */
        clock_sleep_until(in_ms(370));
    }
}

TEST(memcached_forgets_when_it_is_restarted)
{
    assert_int_equal(lock_try(&lock_memcached, &clients.one, &clients.lease), LOCK_OWNED);
    stack_kill("memcached", SIGKILL);
    stack_up();
    assert_int_equal(lock_try(&lock_memcached, &clients.two, &clients.other), LOCK_OWNED);
    assert_true(lease_holds(&clients.lease));
    assert_true(lease_holds(&clients.other));
    assert_int_equal(lock_let_go(&lock_memcached, &clients.one, &clients.lease), LOCK_NOT_OWNER);
    assert_int_equal(lock_let_go(&lock_memcached, &clients.two, &clients.other), LOCK_RELEASED);
}

TEST(a_memcached_that_hangs_is_unknown)
{
    assert_int_equal(lock_try(&lock_memcached, &clients.one, &clients.lease), LOCK_OWNED);
    stack_kill("memcached", SIGSTOP);
    int64_t begun_us = clock_mono_us();
    assert_int_equal(lock_try(&lock_memcached, &clients.two, &clients.other), LOCK_UNKNOWN);
    assert_int_equal(lock_let_go(&lock_memcached, &clients.one, &clients.lease),
                     LOCK_RELEASE_UNKNOWN);
    assert_true(clock_mono_us() - begun_us < 10 * CLOCK_US_PER_S);
    /* It would go on with what it was sent. */
    stack_kill("memcached", SIGKILL);
    stack_up();
}

TEST(a_store_that_is_gone_is_unknown)
{
    for (int i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        assert_int_equal(lock_try(row->lock, &clients.one, &clients.lease), LOCK_OWNED);
        for (int j = 0; j < 2 && row->servers[j]; j++)
            stack_kill(row->servers[j], SIGKILL);
        int64_t begun_us = clock_mono_us();
        assert_int_equal(lock_try(row->lock, &clients.two, &clients.other), LOCK_UNKNOWN);
        assert_true(strlen(row->lock->why(&clients.two)) > 0);
        assert_true(clock_mono_us() - begun_us < 5 * CLOCK_US_PER_S);
        assert_int_equal(lock_let_go(row->lock, &clients.one, &clients.lease),
                         LOCK_RELEASE_UNKNOWN);
        stack_up();
        begun_us = clock_mono_us();
        enum lock_result result;
        while ((result = lock_acquire(row->lock, &clients.two, LOCK_KEY, false, in_ms(LONG_MS),
                                      &clients.other)) == LOCK_UNKNOWN)
            assert_true(clock_mono_us() - begun_us < LOCK_PATIENCE_US);
        assert_int_equal(result, LOCK_OWNED);
        assert_int_equal(lock_let_go(row->lock, &clients.two, &clients.other), LOCK_RELEASED);
    }
}

TEST_EACH(clients_set_up, clients_tear_down)

int main(void)
{
    stack_need_other_locks();
    signal(SIGPIPE, SIG_IGN);
    /* Passages are counted from the first test on, whose they are. */
    if (t_is_chosen("a_lost_answer_of_memcached_locks_nobody_out"))
        setenv("SECKILL_FAILPOINTS", "memcached.reply=fail@2,memcached.reply=fail@4", 1);
    return t_run_all(NULL, clients_restore);
}
