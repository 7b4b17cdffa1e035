/*
 * The locks alone, over a real Redis: what each one promises, and what the faulty ones do when
 * their lease has ended. Two clients stand for two instances.
 */
#include "lock_calls.h"

#include "lib/redis/redis_probe.h"
#include "lib/stack.h"
#include "lib/t.h"

#include "lock/renewer.h"
#include "lock/wllock.h"
#include "settings/settings.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { LEASE_MS = 300, LONG_MS = 60000 };

static const struct lock *const locks[] = {
    &lock_redis_setnx,    &lock_redis_getset, &lock_redis_expiry,
    &lock_redis_uuid,     &lock_redis_token,  &lock_redis_reentrant,
    &lock_redis_watchdog, &lock_redis_fair,   &lock_wllock,
};
enum { LOCKS = sizeof locks / sizeof *locks };

static struct clients {
    struct settings settings;
    struct redis_server *redis_server;
    struct renewer *renewer;
    struct lock_client one;
    struct lock_client two;
    struct lease lease;
    struct lease other;
} clients;

static void connect_client(struct lock_client *client)
{
    *client = (struct lock_client){.redis = redis_create(clients.redis_server),
                                   .renewer = clients.renewer,
                                   .settings = &clients.settings};
    assert_true(redis_connect(client->redis, clock_mono_us() + LOCK_PATIENCE_US));
}

static int set_up(void **state)
{
    (void)state;
    struct error error = {ERROR_NONE, ""};

    memset(&clients, 0, sizeof clients);
    clients.settings.system_name = "locks-test";
    clients.settings.lock_ttl_ms = LONG_MS;
    redis_probe(NULL, 0, "FLUSHALL");
    clients.redis_server = redis_server_create(stack_redis(), "", &error);
    assert_non_null(clients.redis_server);
    assert_true(redis_server_allow_cluster(clients.redis_server));
    clients.renewer = renewer_create(clients.redis_server, &clients.settings);
    assert_non_null(clients.renewer);
    connect_client(&clients.one);
    assert_true(redis_survey(clients.one.redis, clock_mono_us() + LOCK_PATIENCE_US));
    connect_client(&clients.two);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    renewer_forget(clients.renewer, &clients.lease);
    renewer_forget(clients.renewer, &clients.other);
    renewer_destroy(clients.renewer);
    redis_destroy(clients.one.redis);
    redis_destroy(clients.two.redis);
    redis_server_destroy(clients.redis_server);
    return 0;
}

/* A name of redis_fair's beside its lock. */
static const char *beside(const char *kind)
{
    return redis_server_is_cluster(clients.redis_server)
               ? t_text("locks-test:%s:{locks-test:lock:redis-fair:%d}", kind, LOCK_KEY)
               : t_text("locks-test:%s:%d", kind, LOCK_KEY);
}

/* Must be the first: from the second look at the wall clock on, it is a minute behind. */
TEST(w15_wllock_budgets_by_the_wall_clock)
{
    assert_int_equal(lock_try(&lock_redis_fair, &clients.one, &clients.lease), LOCK_OWNED);
    int64_t begun_us = clock_mono_us();
    assert_int_equal(
        lock_acquire(&lock_redis_fair, &clients.two, LOCK_KEY, false, in_ms(100), &clients.other),
        LOCK_BUSY);
    assert_true(clock_mono_us() - begun_us < 10 * CLOCK_US_PER_S);
    assert_int_equal(lock_let_go(&lock_redis_fair, &clients.one, &clients.lease), LOCK_RELEASED);

    /* The holder, without asking the clock. */
    redis_probe(NULL, 0, "SET locks-test:lock:wllock:%d x", LOCK_KEY);
    begun_us = clock_mono_us();
    assert_int_equal(wllock_spin(&clients.one, LOCK_KEY, 20, in_ms(1500), &clients.lease),
                     LOCK_BUSY);
    assert_true(clock_mono_us() - begun_us >= 1500 * CLOCK_US_PER_MS);
}

TEST(every_lock_excludes)
{
    for (int i = 0; i < LOCKS; i++) {
        const struct lock *lock = locks[i];
        assert_int_equal(lock_try(lock, &clients.one, &clients.lease), LOCK_OWNED);
        assert_true(lease_holds(&clients.lease));
        assert_int_equal(lock_try(lock, &clients.two, &clients.other), LOCK_BUSY);
        assert_int_equal(lock_let_go(lock, &clients.one, &clients.lease), LOCK_RELEASED);
        assert_int_equal(lock_try(lock, &clients.two, &clients.other), LOCK_OWNED);
        assert_int_equal(lock_let_go(lock, &clients.two, &clients.other), LOCK_RELEASED);
        assert_int_equal(lock_let_go(lock, &clients.two, &clients.other), LOCK_NOT_OWNER);
    }
    assert_int_equal(redis_probe(NULL, 0, "EXISTS locks-test:lock:redis-token:%d", LOCK_KEY), 0);
}

TEST(no_lock_meets_another_ones_format)
{
    static struct lease leases[LOCKS];

    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(lock_try(locks[i], &clients.one, &leases[i]), LOCK_OWNED);
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(lock_let_go(locks[i], &clients.one, &leases[i]), LOCK_RELEASED);
}

TEST(a_wait_ends_at_its_deadline)
{
    for (int i = 0; i < LOCKS; i++) {
        const struct lock *lock = locks[i];
        assert_int_equal(lock_try(lock, &clients.one, &clients.lease), LOCK_OWNED);
        int64_t until_us = in_ms(250);
        assert_int_equal(
            lock_acquire(lock, &clients.two, LOCK_KEY, false, until_us, &clients.other), LOCK_BUSY);
        int64_t late_us = clock_mono_us() - until_us;
        assert_true(late_us < 10 * CLOCK_US_PER_S);
        if (lock != &lock_wllock)
            assert_true(late_us >= 0);
        assert_int_equal(lock_let_go(lock, &clients.one, &clients.lease), LOCK_RELEASED);
    }
}

TEST(a_dead_holder_is_outlived)
{
    clients.settings.lock_ttl_ms = LEASE_MS;
    for (int i = 0; i < LOCKS; i++) {
        int64_t begun_us = clock_mono_us();
        assert_int_equal(lock_try(locks[i], &clients.one, &clients.lease), LOCK_OWNED);
        renewer_forget(clients.renewer, &clients.lease);
        assert_int_equal(
            lock_acquire(locks[i], &clients.two, LOCK_KEY, false, in_ms(20000), &clients.other),
            LOCK_OWNED);
        assert_in_range(clock_mono_us() - begun_us, LEASE_MS * 900, 15 * CLOCK_US_PER_S);
        lock_let_go(locks[i], &clients.two, &clients.other);
    }
}

/* The first holder's lease ends, the second takes the lock, the first gives it back. */
TEST(a_late_release_frees_the_next_holder_or_not)
{
    for (int i = 0; i < LOCKS; i++) {
        const struct lock *lock = locks[i];
        bool asks = lock == &lock_redis_uuid || lock == &lock_redis_token ||
                    lock == &lock_redis_reentrant || lock == &lock_redis_watchdog ||
                    lock == &lock_redis_fair;
        clients.settings.lock_ttl_ms = LEASE_MS;
        assert_int_equal(lock_try(lock, &clients.one, &clients.lease), LOCK_OWNED);
        renewer_forget(clients.renewer, &clients.lease);
        clients.settings.lock_ttl_ms = LONG_MS;
        assert_int_equal(
            lock_acquire(lock, &clients.two, LOCK_KEY, false, in_ms(20000), &clients.other),
            LOCK_OWNED);
        assert_int_equal(lock_let_go(lock, &clients.one, &clients.lease),
                         asks ? LOCK_NOT_OWNER : LOCK_RELEASED);
        assert_int_equal(redis_probe(NULL, 0, "EXISTS %s", clients.other.name), asks);
        lock_let_go(lock, &clients.two, &clients.other);
    }
}

TEST(the_owner_of_a_reentrant_lock_enters_again)
{
    const struct lock *lock = &lock_redis_reentrant;

    assert_null(lock_redis_token.reenter);
    assert_int_equal(lock_try(lock, &clients.one, &clients.lease), LOCK_OWNED);
    assert_int_equal(lock->reenter(&clients.one, &clients.lease), LOCK_OWNED);
    assert_int_equal(
        redis_probe(NULL, 0, "HINCRBY %s %s 0", clients.lease.name, clients.lease.token), 2);
    redis_probe(NULL, 0, "PEXPIRE %s 5000", clients.lease.name);
    assert_int_equal(lock_let_go(lock, &clients.one, &clients.lease), LOCK_RELEASED);
    assert_true(redis_probe(NULL, 0, "PTTL %s", clients.lease.name) > 5000);
    assert_int_equal(lock_try(lock, &clients.two, &clients.other), LOCK_BUSY);
    assert_int_equal(lock_let_go(lock, &clients.two, &clients.other), LOCK_NOT_OWNER);
    assert_int_equal(lock_let_go(lock, &clients.one, &clients.lease), LOCK_RELEASED);
    assert_int_equal(lock_try(lock, &clients.two, &clients.other), LOCK_OWNED);
    assert_int_equal(lock->reenter(&clients.one, &clients.lease), LOCK_BUSY);
    assert_int_equal(lock_let_go(lock, &clients.two, &clients.other), LOCK_RELEASED);
}

/* How long it is held. */
static int64_t outlive_the_watchdog(void)
{
    assert_int_equal(lock_try(&lock_redis_watchdog, &clients.one, &clients.lease), LOCK_OWNED);
    int64_t begun_us = clock_mono_us();
    while (redis_probe(NULL, 0, "EXISTS %s", clients.lease.name)) {
        assert_true(clock_mono_us() - begun_us < LOCK_PATIENCE_US);
        clock_sleep_until(in_ms(10));
    }
    int64_t held_us = clock_mono_us() - begun_us;
    assert_false(lease_holds(&clients.lease));
    assert_int_equal(lock_let_go(&lock_redis_watchdog, &clients.one, &clients.lease),
                     LOCK_NOT_OWNER);
    return held_us;
}

/* A renewal may be late by two thirds of a lease; on a machine that stood still for longer the lock
 * is lost, and it is held once more. */
TEST(the_watchdog_renews_up_to_its_cap)
{
    enum { RENEWED_MS = 3000 };
    int64_t until_us = clock_mono_us() + LOCK_PATIENCE_US;
    int64_t held_us;

    clients.settings.lock_ttl_ms = RENEWED_MS;
    do {
        assert_true(clock_mono_us() < until_us);
        held_us = outlive_the_watchdog();
        assert_true(held_us < INT64_C(8) * RENEWED_MS * CLOCK_US_PER_MS);
    } while (held_us <= INT64_C(2) * RENEWED_MS * CLOCK_US_PER_MS);
}

static void count(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

/* Somebody else has it now, for ever: a renewal that does not ask would give it an end. */
static void give_to_stranger(const struct lock *lock, const char *name)
{
    redis_probe(NULL, 0, "DEL %s", name);
    if (lock == &lock_redis_watchdog)
        redis_probe(NULL, 0, "HSET %s stranger 1", name);
    else
        redis_probe(NULL, 0, "SET %s stranger", name);
}

TEST(a_lost_lease_is_told_once)
{
    static const struct lock *const renewed[] = {&lock_redis_watchdog, &lock_redis_fair};

    clients.settings.lock_ttl_ms = LEASE_MS;
    for (int i = 0; i < 2; i++) {
        atomic_int told = 0;
        clients.lease.on_lost = count;
        clients.lease.on_lost_context = &told;
        assert_int_equal(lock_try(renewed[i], &clients.one, &clients.lease), LOCK_OWNED);
        give_to_stranger(renewed[i], clients.lease.name);
        int64_t begun_us = clock_mono_us();
        while (!atomic_load(&told)) {
            assert_true(clock_mono_us() - begun_us < LOCK_PATIENCE_US);
            clock_sleep_until(in_ms(5));
        }
        assert_false(lease_holds(&clients.lease));
        clock_sleep_until(in_ms(LEASE_MS));
        assert_int_equal(atomic_load(&told), 1);
        assert_int_equal(lock_let_go(renewed[i], &clients.one, &clients.lease), LOCK_NOT_OWNER);
        assert_int_equal(redis_probe(NULL, 0, "PTTL %s", clients.lease.name), -1);
        clients.lease.on_lost = NULL;
    }
}

/* Somebody sleeps in a BLPOP. */
static bool is_waited_for(void)
{
    return redis_probe_sum("clients", "blocked_clients:") == 1;
}

static void *wait_in_turn(void *argument)
{
    const struct lock **lock = argument;

    return lock_acquire(*lock, &clients.two, LOCK_KEY, false, in_ms(20000), &clients.other) ==
                   LOCK_OWNED
               ? &clients
               : NULL;
}

/* The holder's lease is a minute: only being told can end the wait so early. */
TEST(a_release_wakes_who_waits)
{
    static const struct lock *const telling[] = {&lock_redis_watchdog, &lock_redis_fair};

    for (int i = 0; i < 2; i++) {
        const struct lock *lock = telling[i];
        pthread_t waiter;
        void *owned = NULL;
        assert_int_equal(lock_try(lock, &clients.one, &clients.lease), LOCK_OWNED);
        redis_probe(NULL, 0, "CONFIG RESETSTAT");
        assert_int_equal(pthread_create(&waiter, NULL, wait_in_turn, &lock), 0);
        T_UNTIL(redis_probe_calls("evalsha") >= 2 - i);
        if (lock == &lock_redis_fair)
            T_UNTIL(is_waited_for());
        int64_t begun_us = clock_mono_us();
        assert_int_equal(lock_let_go(lock, &clients.one, &clients.lease), LOCK_RELEASED);
        assert_int_equal(pthread_join(waiter, &owned), 0);
        assert_non_null(owned);
        assert_true(clock_mono_us() - begun_us < 10 * CLOCK_US_PER_S);
        assert_int_equal(lock_let_go(lock, &clients.two, &clients.other), LOCK_RELEASED);
    }
}

/* A dozen that died in the queue, in front of one that lives: their turn costs a grace period,
 * where only being told keeps the one behind them from sleeping until the end of the lease, a
 * minute. */
TEST(dead_waiters_cost_a_grace_period)
{
    enum { DEAD = 12 };
    const struct lock *lock = &lock_redis_fair;
    pthread_t waiter;
    void *owned = NULL;

    assert_int_equal(lock_try(lock, &clients.one, &clients.lease), LOCK_OWNED);
    for (int i = 1; i <= DEAD; i++)
        redis_probe(NULL, 0, "ZADD %s %d dead%d", beside("lock-queue"), i, i);
    redis_probe(NULL, 0, "SET %s %d", beside("lock-tickets"), DEAD);
    assert_int_equal(pthread_create(&waiter, NULL, wait_in_turn, &lock), 0);
    T_UNTIL(redis_probe(NULL, 0, "ZCARD %s", beside("lock-queue")) > DEAD);
    T_UNTIL(is_waited_for());
    int64_t begun_us = clock_mono_us();
    assert_int_equal(lock_let_go(lock, &clients.one, &clients.lease), LOCK_RELEASED);
    assert_int_equal(pthread_join(waiter, &owned), 0);
    assert_non_null(owned);
    assert_true(clock_mono_us() - begun_us < 10 * CLOCK_US_PER_S);
    assert_int_equal(lock_let_go(lock, &clients.two, &clients.other), LOCK_RELEASED);
}

/* Free, and reserved by the last release for the one who has waited longest. */
TEST(a_free_lock_is_kept_for_its_turn)
{
    redis_probe(NULL, 0, "SET %s another PX %d", beside("lock-next"), LONG_MS);
    assert_int_equal(lock_try(&lock_redis_fair, &clients.one, &clients.lease), LOCK_BUSY);
    redis_probe(NULL, 0, "DEL %s", beside("lock-next"));
    assert_int_equal(lock_try(&lock_redis_fair, &clients.one, &clients.lease), LOCK_OWNED);
    assert_int_equal(lock_let_go(&lock_redis_fair, &clients.one, &clients.lease), LOCK_RELEASED);
}

/* 1 ms is left: half of it is 0, and 0 means for ever. */
TEST(w3_a_budget_of_nothing_is_no_budget)
{
    assert_int_equal(lock_try(&lock_wllock, &clients.one, &clients.lease), LOCK_OWNED);
    int64_t begun_us = clock_mono_us();
    assert_int_equal(wllock_spin(&clients.two, LOCK_KEY, 1, in_ms(700), &clients.other), LOCK_BUSY);
    assert_true(clock_mono_us() - begun_us >= 700 * CLOCK_US_PER_MS);
    begun_us = clock_mono_us();
    assert_int_equal(wllock_spin(&clients.two, LOCK_KEY, 4, in_ms(60000), &clients.other),
                     LOCK_BUSY);
    assert_true(clock_mono_us() - begun_us < 10 * CLOCK_US_PER_S);
    lock_let_go(&lock_wllock, &clients.one, &clients.lease);

    assert_int_equal(lock_try(&lock_redis_fair, &clients.one, &clients.lease), LOCK_OWNED);
    int64_t until_us = in_ms(1);
    assert_int_equal(
        lock_acquire(&lock_redis_fair, &clients.two, LOCK_KEY, false, until_us, &clients.other),
        LOCK_BUSY);
    assert_true(clock_mono_us() - until_us < 10 * CLOCK_US_PER_S);
    lock_let_go(&lock_redis_fair, &clients.one, &clients.lease);
}

/* wllock's local lock lets its owner in again, and then its Redis lock does not: it spins against
 * itself. The reentrant one answers at once. */
TEST(w9_wllock_waits_for_itself)
{
    assert_int_equal(lock_try(&lock_wllock, &clients.one, &clients.lease), LOCK_OWNED);
    int64_t begun_us = clock_mono_us();
    assert_int_equal(
        lock_acquire(&lock_wllock, &clients.one, LOCK_KEY, false, in_ms(400), &clients.other),
        LOCK_BUSY);
    assert_true(clock_mono_us() - begun_us > 190 * CLOCK_US_PER_MS);
    lock_let_go(&lock_wllock, &clients.one, &clients.lease);

    assert_int_equal(lock_try(&lock_redis_reentrant, &clients.one, &clients.lease), LOCK_OWNED);
    assert_int_equal(lock_redis_reentrant.reenter(&clients.one, &clients.lease), LOCK_OWNED);
    lock_let_go(&lock_redis_reentrant, &clients.one, &clients.lease);
    lock_let_go(&lock_redis_reentrant, &clients.one, &clients.lease);
}

TEST(a_redis_that_is_gone_is_unknown)
{
    static struct lease held[LOCKS];

    if (redis_server_is_cluster(clients.redis_server))
        skip(); /* test_cluster.c */
    for (int i = 0; i < LOCKS; i++) {
        assert_int_equal(lock_try(locks[i], &clients.one, &held[i]), LOCK_OWNED);
        renewer_forget(clients.renewer, &held[i]);
    }
    stack_kill("locks", SIGKILL);
    for (int i = 0; i < LOCKS; i++) {
        assert_int_equal(lock_try(locks[i], &clients.two, &clients.other),
                         locks[i] == &lock_wllock ? LOCK_BUSY : LOCK_UNKNOWN);
        assert_int_equal(lock_let_go(locks[i], &clients.one, &held[i]), LOCK_RELEASE_UNKNOWN);
    }
    stack_up();
    int64_t until_us = clock_mono_us() + LOCK_PATIENCE_US;
    while (!redis_connect(clients.one.redis, until_us) ||
           !redis_connect(clients.two.redis, until_us))
        assert_true(clock_mono_us() < until_us);
    redis_probe(NULL, 0, "FLUSHALL");
    for (int i = 0; i < LOCKS; i++) {
        assert_int_equal(lock_try(locks[i], &clients.two, &clients.other), LOCK_OWNED);
        assert_int_equal(lock_let_go(locks[i], &clients.two, &clients.other), LOCK_RELEASED);
    }
}

TEST_EACH(set_up, tear_down)

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    if (t_is_chosen("w15_wllock_budgets_by_the_wall_clock"))
        setenv("SECKILL_FAILPOINTS", "clock.wall=skew:-60000@2", 1);
    return t_run_all(NULL, stack_restore);
}
