/*
 * The failure that each Redis lock is kept for, made to happen by failpoints instead of luck, and
 * beside it the strategy that survives it.
 *
 * Every test has two or three servers. A failpoint stops a whole process (SIGSTOP) at a place that
 * the test names; while it is stopped the others go on, then it is let go. A stopped process may
 * not outstay its own work allowance with a transaction open, or PostgreSQL ends it: so the pauses
 * that outlast a lease are split in two, before and within the work.
 */
#include "lib/redis_look.h"
#include "lib/shop.h"
#include "lib/stack.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "base/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_US INT64_C(60000000)

static struct witness *witness;
static int64_t product;

static struct server *start(const char *failpoints, const char *lease_ms, const char *work_ms)
{
    server_use_failpoints(failpoints);
    struct server *server = server_start("--lock-ttl-ms", lease_ms, "--work-timeout-ms", work_ms);
    server_use_failpoints(NULL);
    return server;
}

/* A product of the test's own, with nothing of it in Redis. */
static void put(struct server *server, int64_t stock)
{
    redis_look(stack_redis(), "FLUSHALL");
    shop_put(server, ++product, stock, NULL);
}

static struct buy order(const char *strategy, int64_t user)
{
    return (struct buy){
        .strategy = strategy, .more = "&wait_ms=40000", .product = product, .user = user};
}

/* Sends an order whose answer is expected later. */
static struct crowd *begin(struct server *server, const char *strategy, int64_t user)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = order(strategy, user);

    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    return crowd;
}

static void finish(struct crowd *crowd, int status, const char *code)
{
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, status, code) != 1)
        fail_msg("%s instead of %d %s", crowd_summary(crowd), status, code);
    crowd_destroy(crowd);
}

static void buys(struct server *server, const char *strategy, int64_t user)
{
    struct buy buy = order(strategy, user);

    shop_expect_buy(server, &buy, 201, "", NULL);
}

/* Waits a moment for the lock and does not get it. */
static void waits_in_vain(struct server *server, const char *strategy, int64_t user)
{
    struct buy buy = order(strategy, user);

    buy.more = "&wait_ms=600";
    shop_expect_buy(server, &buy, 503, "wait_timeout", NULL);
}

static int64_t lock_key(const char *command, const char *lock)
{
    return redis_look(stack_redis(), "%s seckill:lock:%s:%lld", command, lock, (long long)product);
}

static void expect_oversold(int64_t units)
{
    struct sale sale = witness_sale(witness, product);

    assert_int_equal(sale.sold - sale.initial_stock - sale.restocked, units);
}

/* Died between SETNX and EXPIRE -----------------------------------------------------------------
 */

static void dies_holding(const char *strategy, const char *failpoint)
{
    struct server *a = start(failpoint, "1000", "900");

    put(a, 10);
    struct crowd *lost = begin(a, strategy, 1);
    assert_int_equal(server_wait(a, (char[64]){0}, 64), 128 + SIGKILL);
    crowd_finish(lost, PATIENCE_US);
    assert_int_equal(crowd_lost(lost), 1);
    crowd_destroy(lost);
}

static void a_death_before_the_expiry_locks_for_ever(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"redis-setnx", "redis-setnx", "redis-setnx.expire=kill"},
        {"control-setnx-no-expiry", "setnx-no-expiry", "lock.acquired=kill"},
    };
    struct server *b = start(NULL, "1000", "900");

    for (int i = 0; i < 2; i++) {
        dies_holding(rows[i][0], rows[i][2]);
        assert_int_equal(lock_key("PTTL", rows[i][1]), -1);
        waits_in_vain(b, rows[i][0], 2);
        waits_in_vain(b, rows[i][0], 3);
        assert_int_equal(lock_key("PTTL", rows[i][1]), -1);
        assert_int_equal(lock_key("DEL", rows[i][1]), 1);
        buys(b, rows[i][0], 4);
        witness_expect_exact(witness, product);
    }
    server_stop(b);
}

static void a_death_under_a_lease_locks_for_one_lease(void **state)
{
    (void)state;
    static const char *const strategies[] = {
        "redis-setnx",     "redis-getset",   "redis-expiry", "redis-uuid", "redis-token",
        "redis-reentrant", "redis-watchdog", "redis-fenced", "wllock",     "redis-queue"};
    struct server *b = start(NULL, "1000", "900");

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        dies_holding(strategies[i], "lock.acquired=kill");
        buys(b, strategies[i], 2);
        witness_expect_exact(witness, product);
    }
    server_stop(b);
}

/* Paused past its lease -------------------------------------------------------------------------
 */

/* A stops with the lock, and again after it has read the stock; B waits for the lease to end, and
 * sells; A goes on. */
static void pause_holder(const char *strategy, const char *failpoints, int status, const char *code)
{
    struct server *a = start(failpoints, "4000", "3800");
    struct server *b = start(NULL, "4000", "3800");
    int64_t begun_us = clock_mono_us();

    put(a, 1);
    struct crowd *late = begin(a, strategy, 1);
    server_wait_stopped(a);
    struct crowd *next = begin(b, strategy, 2);
    clock_sleep_until(begun_us + 2500 * CLOCK_US_PER_MS);
    server_resume(a);
    server_wait_stopped(a);
    finish(next, 201, "");
    server_resume(a);
    finish(late, status, code);
    server_kill(a);
    server_stop(b);
}

static void a_holder_paused_past_its_lease_oversells(void **state)
{
    (void)state;
    static const char *const strategies[] = {"redis-setnx", "redis-getset",  "redis-expiry",
                                             "redis-uuid",  "redis-token",   "redis-reentrant",
                                             "wllock",      "redis-watchdog"};

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        /* The renewer would wake with its process, so it is kept asleep. */
        pause_holder(strategies[i],
                     "lock.acquired=stop,body.after-read=stop,renewer.renew=pause:60000", 201, "");
        expect_oversold(1);
    }
}

static void a_fence_refuses_the_paused_holder(void **state)
{
    (void)state;
    pause_holder("redis-fenced", "lock.acquired=stop,body.after-read=stop", 503, "lease_lost");
    witness_expect_exact(witness, product);
    pause_holder("redis-queue",
                 "lock.acquired=stop,fence.registered=stop,renewer.renew=pause:60000", 503,
                 "lease_lost");
    witness_expect_exact(witness, product);
}

/* Redis forgets the lock ------------------------------------------------------------------------
 */

static void forget_lock(const char *strategy, const char *failpoints, int status, const char *code)
{
    struct server *a = start(failpoints, "60000", "50000");
    struct server *b = start(NULL, "60000", "50000");

    put(a, 1);
    struct crowd *first = begin(a, strategy, 1);
    server_wait_stopped(a);
    redis_look(stack_redis(), "FLUSHALL");
    buys(b, strategy, 2);
    server_resume(a);
    finish(first, status, code);
    server_stop(a);
    server_stop(b);
}

static void a_redis_that_forgets_gives_the_lock_to_two(void **state)
{
    (void)state;
    static const char *const strategies[] = {"redis-token", "redis-watchdog", "wllock"};

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        forget_lock(strategies[i], "body.after-read=stop", 201, "");
        expect_oversold(1);
    }
    forget_lock("redis-fenced", "body.after-read=stop", 503, "lease_lost");
    witness_expect_exact(witness, product);
    forget_lock("redis-queue", "fence.registered=stop", 503, "lease_lost");
    witness_expect_exact(witness, product);
}

/* Mis-deletes -----------------------------------------------------------------------------------
 */

struct third {
    struct server *a;
    struct server *b;
    struct server *c;
    struct crowd *next;
};

/* A has sold and stops before it releases, past its lease; B has the lock and stops after it has
 * read the stock; A releases. */
static struct third release_late(const char *strategy, const char *failpoint)
{
    struct third the = {start(failpoint, "1500", "1400"),
                        start("body.after-read=stop", "60000", "50000"),
                        start(NULL, "60000", "50000"), NULL};

    put(the.a, 2);
    struct crowd *first = begin(the.a, strategy, 1);
    server_wait_stopped(the.a);
    the.next = begin(the.b, strategy, 2);
    server_wait_stopped(the.b);
    server_resume(the.a);
    finish(first, 201, "");
    return the;
}

static void end(struct third *the)
{
    server_stop(the->a);
    server_stop(the->b);
    server_stop(the->c);
}

static void a_late_delete_frees_the_next_holders_lock(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"redis-expiry", "lock.releasing=stop"},  {"redis-setnx", "lock.releasing=stop"},
        {"redis-getset", "lock.releasing=stop"},  {"wllock", "lock.releasing=stop"},
        {"redis-uuid", "redis-uuid.delete=stop"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct third the = release_late(rows[i][0], rows[i][1]);
        /* B works, and yet C gets the lock: at once, a minute before B's lease ends. */
        buys(the.c, rows[i][0], 3);
        server_resume(the.b);
        finish(the.next, 201, "");
        expect_oversold(1);
        end(&the);
    }
}

static void a_late_release_that_compares_frees_nobody(void **state)
{
    (void)state;
    static const char *const strategies[] = {"redis-uuid", "redis-token", "redis-reentrant",
                                             "redis-fenced"};

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct third the = release_late(strategies[i], "lock.releasing=stop");
        while (server_metric(the.a, "seckill_lease_overruns_total", strategies[i]) != 1)
            clock_sleep_until(clock_mono_us() + 5 * CLOCK_US_PER_MS);
        waits_in_vain(the.c, strategies[i], 3);
        server_resume(the.b);
        finish(the.next, 201, "");
        struct buy late = order(strategies[i], 4);
        shop_expect_buy(the.c, &late, 409, "sold_out", NULL);
        witness_expect_exact(witness, product);
        end(&the);
    }
}

/* A wrong clock ---------------------------------------------------------------------------------
 */

static void a_skewed_clock_steals_a_live_lock(void **state)
{
    (void)state;
    static const char *const strategies[] = {"redis-getset", "redis-token"};

    for (int i = 0; i < 2; i++) {
        struct server *a = start("body.after-read=stop", "30000", "25000");
        struct server *b = start("clock.wall=skew:45000", "30000", "25000");
        put(a, 1);
        struct crowd *first = begin(a, strategies[i], 1);
        server_wait_stopped(a);
        if (i == 0)
            buys(b, strategies[i], 2);
        else
            waits_in_vain(b, strategies[i], 2);
        server_resume(a);
        finish(first, 201, "");
        expect_oversold(1 - i);
        server_stop(a);
        server_stop(b);
    }
}

/* Unlocked before the commit ---------------------------------------------------------------------
 */

static void an_unlock_before_the_commit_oversells(void **state)
{
    (void)state;
    struct server *a = start("control.unlocked=stop", "30000", "25000");
    struct server *b = start(NULL, "30000", "25000");
    const char *waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                          "AND datname = current_database()";

    put(a, 1);
    struct crowd *first = begin(a, "control-unlock-before-commit", 1);
    server_wait_stopped(a);
    struct crowd *second = begin(b, "control-unlock-before-commit", 2);
    while (witness_number(witness, "%s", waiting) == 0)
        clock_sleep_until(clock_mono_us() + 5 * CLOCK_US_PER_MS);
    server_resume(a);
    finish(first, 201, "");
    finish(second, 201, "");
    expect_oversold(1);
    server_stop(a);
    server_stop(b);
}

static void an_unlock_after_the_commit_does_not(void **state)
{
    (void)state;
    struct server *a = start("lock.releasing=stop", "30000", "25000");
    struct server *b = start(NULL, "30000", "25000");

    put(a, 1);
    struct crowd *first = begin(a, "redis-token", 1);
    server_wait_stopped(a);
    struct crowd *second = begin(b, "redis-token", 2);
    server_resume(a);
    finish(first, 201, "");
    finish(second, 409, "sold_out");
    witness_expect_exact(witness, product);
    server_stop(a);
    server_stop(b);
}

/* Work that outlasts its lease -------------------------------------------------------------------
 */

/* A's worker alone is slow, for 6 s under a lease of 4; its watchdog lives. */
static void outlast(const char *strategy, const char *lock, int status, const char *code)
{
    struct server *a = start("lock.acquired=pause:3000,body.after-read=pause:3000", "4000", "3800");
    struct server *b = start(NULL, "4000", "3800");

    put(a, 1);
    struct crowd *first = begin(a, strategy, 1);
    while (!lock_key("EXISTS", lock))
        clock_sleep_until(clock_mono_us() + 5 * CLOCK_US_PER_MS);
    struct crowd *second = begin(b, strategy, 2);
    finish(second, status, code);
    finish(first, 201, "");
    server_stop(a);
    server_stop(b);
}

static void an_explicit_lease_switches_the_watchdog_off(void **state)
{
    (void)state;
    outlast("control-watchdog-explicit-lease", "watchdog-explicit-lease", 201, "");
    expect_oversold(1);
    outlast("redis-watchdog", "redis-watchdog", 409, "sold_out");
    witness_expect_exact(witness, product);
}

static void a_lost_lease_cancels_the_work(void **state)
{
    (void)state;
    struct server *a = start(NULL, "6000", "5900");

    put(a, 1);
    /* Whoever writes the row now waits inside PostgreSQL. */
    witness_run(witness, "BEGIN; UPDATE product SET name = name WHERE id = %lld",
                (long long)product);
    int64_t begun_us = clock_mono_us();
    struct crowd *first = begin(a, "redis-watchdog", 1);
    while (!lock_key("DEL", "redis-watchdog"))
        clock_sleep_until(clock_mono_us() + 5 * CLOCK_US_PER_MS);
    finish(first, 503, "lease_lost");
    assert_true(clock_mono_us() - begun_us < 5500 * CLOCK_US_PER_MS);
    witness_run(witness, "ROLLBACK");
    witness_expect_exact(witness, product);
    buys(a, "redis-watchdog", 2);
    server_stop(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_death_before_the_expiry_locks_for_ever, server_teardown),
        cmocka_unit_test_teardown(a_death_under_a_lease_locks_for_one_lease, server_teardown),
        cmocka_unit_test_teardown(a_holder_paused_past_its_lease_oversells, server_teardown),
        cmocka_unit_test_teardown(a_fence_refuses_the_paused_holder, server_teardown),
        cmocka_unit_test_teardown(a_redis_that_forgets_gives_the_lock_to_two, server_teardown),
        cmocka_unit_test_teardown(a_late_delete_frees_the_next_holders_lock, server_teardown),
        cmocka_unit_test_teardown(a_late_release_that_compares_frees_nobody, server_teardown),
        cmocka_unit_test_teardown(a_skewed_clock_steals_a_live_lock, server_teardown),
        cmocka_unit_test_teardown(an_unlock_before_the_commit_oversells, server_teardown),
        cmocka_unit_test_teardown(an_unlock_after_the_commit_does_not, server_teardown),
        cmocka_unit_test_teardown(an_explicit_lease_switches_the_watchdog_off, server_teardown),
        cmocka_unit_test_teardown(a_lost_lease_cancels_the_work, server_teardown),
    };
    char *conninfo = stack_database_create("seckill_lock_failures");

    server_use_database(conninfo);
    struct server *schema = server_start(NULL);
    witness = witness_open(conninfo);
    server_stop(schema);
    int failed = cmocka_run_group_tests(tests, NULL, stack_restore);
    witness_close(witness);
    stack_database_drop("seckill_lock_failures");
    free(conninfo);
    return failed != 0;
}
