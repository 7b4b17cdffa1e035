/*
 * Locks that are wrong without any pause under the work: no expiry, a release of another's lock, a
 * clock, an unlock before the commit; and beside each the strategy that survives it.
 */
#include "lib/fixtures/rivals.h"
#include "lib/redis/redis_probe.h"
#include "lib/stack.h"
#include "lib/t.h"

#include "base/clock.h"

#include <signal.h>

/* Died between SETNX and EXPIRE -----------------------------------------------------------------
 */

static void dies_holding(const char *strategy, const char *failpoint)
{
    struct server *a = rival_start(failpoint, "1000", "900");

    rivals_put(a, 10);
    struct crowd *lost = rival_begin(a, strategy, 1);
    assert_int_equal(server_wait(a, (char[64]){0}, 64), 128 + SIGKILL);
    crowd_finish(lost, RIVALS_PATIENCE_US);
    assert_int_equal(crowd_lost(lost), 1);
    crowd_destroy(lost);
}

/* Its own lease is nobody's matter. */
static struct server *start_patient(void)
{
    return rival_start(NULL, "60000", "50000");
}

static void a_death_before_the_expiry_locks_for_ever(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"redis-setnx", "redis-setnx", "redis-setnx.expire=kill"},
        {"control-setnx-no-expiry", "setnx-no-expiry", "lock.acquired=kill"},
    };
    struct server *b = start_patient();

    for (int i = 0; i < 2; i++) {
        dies_holding(rows[i][0], rows[i][2]);
        assert_int_equal(rivals_lock("PTTL", rows[i][1]), -1);
        rival_waits_in_vain(b, rows[i][0], 2);
        rival_waits_in_vain(b, rows[i][0], 3);
        assert_int_equal(rivals_lock("PTTL", rows[i][1]), -1);
        assert_int_equal(rivals_lock("DEL", rows[i][1]), 1);
        rival_buys(b, rows[i][0], 4);
        witness_expect_exact(rivals.witness, rivals.product);
    }
    server_stop(b);
}

static void a_death_under_a_lease_locks_for_one_lease(void **state)
{
    (void)state;
    static const char *const strategies[] = {
        "redis-setnx",     "redis-getset",   "redis-expiry", "redis-uuid", "redis-token",
        "redis-reentrant", "redis-watchdog", "redis-fenced", "wllock",     "redis-queue"};
    struct server *b = start_patient();

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        dies_holding(strategies[i], "lock.acquired=kill");
        rival_buys(b, strategies[i], 2);
        witness_expect_exact(rivals.witness, rivals.product);
    }
    server_stop(b);
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
    struct third the = {rival_start(failpoint, "3000", "2900"),
                        rival_start("body.after-read=stop", "60000", "50000"),
                        rival_start(NULL, "60000", "50000"), NULL};

    rivals_put(the.a, 2);
    struct crowd *first = rival_begin(the.a, strategy, 1);
    server_wait_stopped(the.a);
    the.next = rival_begin(the.b, strategy, 2);
    server_wait_stopped(the.b);
    server_resume(the.a);
    rival_finish(first, 201, "");
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
        rival_buys(the.c, rows[i][0], 3);
        server_resume(the.b);
        rival_finish(the.next, 201, "");
        rivals_expect_oversold(1);
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
        server_wait_metric(the.a, "seckill_lease_overruns_total", strategies[i], 1);
        rival_waits_in_vain(the.c, strategies[i], 3);
        server_resume(the.b);
        rival_finish(the.next, 201, "");
        struct buy late = rival_order(strategies[i], 4);
        shop_expect_buy(the.c, &late, 409, "sold_out", NULL);
        witness_expect_exact(rivals.witness, rivals.product);
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
        struct server *a = rival_start("body.after-read=stop", "30000", "25000");
        struct server *b = rival_start("clock.wall=skew:45000", "30000", "25000");
        rivals_put(a, 1);
        struct crowd *first = rival_begin(a, strategies[i], 1);
        server_wait_stopped(a);
        if (i == 0)
            rival_buys(b, strategies[i], 2);
        else
            rival_waits_in_vain(b, strategies[i], 2);
        server_resume(a);
        rival_finish(first, 201, "");
        rivals_expect_oversold(1 - i);
        server_stop(a);
        server_stop(b);
    }
}

/* Two take over
 * ------------------------------------------------------------------------------------
 */

/* A has seen the ended stamp and stops; B takes the lock over and has read the stock; A goes on,
 * and has to ask again. */
static void of_two_that_take_over_one_wins(void **state)
{
    (void)state;
    struct server *a = rival_start("redis-getset.take-over=stop", "60000", "50000");
    struct server *b = rival_start("body.after-read=stop", "60000", "50000");

    rivals_put(a, 1);
    redis_probe(NULL, 0, "SET seckill:lock:redis-getset:%lld 1", (long long)rivals.product);
    struct crowd *first = rival_begin(a, "redis-getset", 1);
    server_wait_stopped(a);
    struct crowd *second = rival_begin(b, "redis-getset", 2);
    server_wait_stopped(b);
    int64_t asked = redis_probe_calls("setnx");
    int64_t begun_us = clock_mono_us();
    server_resume(a);
    while (redis_probe_calls("setnx") == asked && !crowd_wait(first, 1, clock_mono_us()))
        look_again(begun_us);
    server_resume(b);
    rival_finish(second, 201, "");
    rival_finish(first, 409, "sold_out");
    witness_expect_exact(rivals.witness, rivals.product);
    server_stop(a);
    server_stop(b);
}

/* Unlocked before the commit ---------------------------------------------------------------------
 */

static void an_unlock_before_the_commit_oversells(void **state)
{
    (void)state;
    struct server *a = rival_start("control.unlocked=stop", "30000", "25000");
    struct server *b = rival_start(NULL, "30000", "25000");

    rivals_put(a, 1);
    struct crowd *first = rival_begin(a, "control-unlock-before-commit", 1);
    server_wait_stopped(a);
    struct crowd *second = rival_begin(b, "control-unlock-before-commit", 2);
    witness_wait_blocked(rivals.witness, 1);
    server_resume(a);
    rival_finish(first, 201, "");
    rival_finish(second, 201, "");
    rivals_expect_oversold(1);
    server_stop(a);
    server_stop(b);
}

static void an_unlock_after_the_commit_does_not(void **state)
{
    (void)state;
    struct server *a = rival_start("lock.releasing=stop", "30000", "25000");
    struct server *b = rival_start(NULL, "30000", "25000");

    rivals_put(a, 1);
    struct crowd *first = rival_begin(a, "redis-token", 1);
    server_wait_stopped(a);
    struct crowd *second = rival_begin(b, "redis-token", 2);
    server_resume(a);
    rival_finish(first, 201, "");
    rival_finish(second, 409, "sold_out");
    witness_expect_exact(rivals.witness, rivals.product);
    server_stop(a);
    server_stop(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_death_before_the_expiry_locks_for_ever, server_teardown),
        cmocka_unit_test_teardown(a_death_under_a_lease_locks_for_one_lease, server_teardown),
        cmocka_unit_test_teardown(a_late_delete_frees_the_next_holders_lock, server_teardown),
        cmocka_unit_test_teardown(a_late_release_that_compares_frees_nobody, server_teardown),
        cmocka_unit_test_teardown(a_skewed_clock_steals_a_live_lock, server_teardown),
        cmocka_unit_test_teardown(of_two_that_take_over_one_wins, server_teardown),
        cmocka_unit_test_teardown(an_unlock_before_the_commit_oversells, server_teardown),
        cmocka_unit_test_teardown(an_unlock_after_the_commit_does_not, server_teardown),
    };

    rivals_open("lock_failures");
    int failed = cmocka_run_group_tests(tests, NULL, stack_restore);
    rivals_close();
    return failed != 0;
}
