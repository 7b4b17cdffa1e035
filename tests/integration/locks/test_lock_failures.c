/*
 * Locks that are wrong without any pause under the work: no expiry, a release of another's lock, a
 * clock, an unlock before the commit; and beside each the strategy that survives it.
 */
#include "lib/fixtures/contenders.h"
#include "lib/redis/redis_probe.h"
#include "lib/stack.h"
#include "lib/t.h"

#include "base/clock.h"

#include <signal.h>
#include <string.h>

/* Died between SETNX and EXPIRE -----------------------------------------------------------------
 */

static void dies_holding(const char *strategy, const char *failpoint)
{
    struct server *a = contender_start(failpoint, "1000", "900");

    contenders_put(a, 10);
    struct crowd *lost = contender_begin(a, strategy, 1);
    assert_int_equal(server_wait(a, (char[64]){0}, 64), 128 + SIGKILL);
    crowd_finish(lost, CONTENDERS_PATIENCE_US);
    assert_int_equal(crowd_lost(lost), 1);
    crowd_destroy(lost);
}

/* Its own lease is nobody's matter. */
static struct server *start_patient(void)
{
    return contender_start(NULL, "60000", "50000");
}

TEST(a_death_before_the_expiry_locks_for_ever)
{
    static const char *const rows[][3] = {
        {"redis-setnx", "redis-setnx", "redis-setnx.expire=kill"},
        {"control-setnx-no-expiry", "setnx-no-expiry", "lock.acquired=kill"},
    };
    struct server *b = start_patient();

    for (int i = 0; i < 2; i++) {
        dies_holding(rows[i][0], rows[i][2]);
        assert_int_equal(contenders_lock("PTTL", rows[i][1]), -1);
        contender_waits_in_vain(b, rows[i][0], 2);
        contender_waits_in_vain(b, rows[i][0], 3);
        assert_int_equal(contenders_lock("PTTL", rows[i][1]), -1);
        assert_int_equal(contenders_lock("DEL", rows[i][1]), 1);
        contender_buys(b, rows[i][0], 4);
        witness_expect_exact(contenders.witness, contenders.product);
    }
    server_stop(b);
}

TEST(a_death_under_a_lease_locks_for_one_lease)
{
    static const char *const strategies[] = {
        "redis-setnx",     "redis-getset",   "redis-expiry", "redis-uuid", "redis-token",
        "redis-reentrant", "redis-watchdog", "redis-fenced", "wllock",     "redis-queue"};
    struct server *b = start_patient();

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        dies_holding(strategies[i], "lock.acquired=kill");
        contender_buys(b, strategies[i], 2);
        witness_expect_exact(contenders.witness, contenders.product);
    }
    server_stop(b);
}

/* Mis-deletes -----------------------------------------------------------------------------------
 */

static void end_stamp(void)
{
    redis_probe(NULL, 0, "SET seckill:lock:redis-getset:%lld 1", (long long)contenders.product);
}

struct third {
    struct server *a;
    struct server *b;
    struct server *c;
    struct crowd *next;
};

/* A has sold and stops before it releases; its lease ends; B has the lock and stops after it has
 * read the stock; A releases. */
static struct third release_late(const char *strategy, const char *failpoint)
{
    struct third the = {contender_start(failpoint, "60000", "50000"),
                        contender_start("body.after-read=stop", "60000", "50000"),
                        contender_start(NULL, "60000", "50000"), NULL};

    contenders_put(the.a, 2);
    struct crowd *first = contender_begin(the.a, strategy, 1);
    server_wait_stopped(the.a);
    if (strcmp(strategy, "redis-getset") == 0)
        end_stamp();
    else
        assert_int_equal(contenders_lock("DEL", contender_lock(strategy)), 1);
    the.next = contender_begin(the.b, strategy, 2);
    server_wait_stopped(the.b);
    server_resume(the.a);
    contender_finish(first, 201, "");
    return the;
}

static void end(struct third *the)
{
    server_stop(the->a);
    server_stop(the->b);
    server_stop(the->c);
}

TEST(a_late_delete_frees_the_next_holders_lock)
{
    static const char *const rows[][2] = {
        {"redis-expiry", "lock.releasing=stop"},  {"redis-setnx", "lock.releasing=stop"},
        {"redis-getset", "lock.releasing=stop"},  {"wllock", "lock.releasing=stop"},
        {"redis-uuid", "redis-uuid.delete=stop"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct third the = release_late(rows[i][0], rows[i][1]);
        /* B works, and yet C gets the lock: at once, a minute before B's lease ends. */
        contender_buys(the.c, rows[i][0], 3);
        server_resume(the.b);
        contender_finish(the.next, 201, "");
        contenders_expect_oversold(1);
        end(&the);
    }
}

TEST(a_late_release_that_compares_frees_nobody)
{
    static const char *const strategies[] = {"redis-uuid", "redis-token", "redis-reentrant",
                                             "redis-fenced"};

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct third the = release_late(strategies[i], "lock.releasing=stop");
        server_wait_metric(the.a, "seckill_lease_overruns_total", strategies[i], 1);
        contender_waits_in_vain(the.c, strategies[i], 3);
        server_resume(the.b);
        contender_finish(the.next, 201, "");
        struct buy late = contender_order(strategies[i], 4);
        shop_expect_buy(the.c, &late, 409, "sold_out", NULL);
        witness_expect_exact(contenders.witness, contenders.product);
        end(&the);
    }
}

/* A wrong clock ---------------------------------------------------------------------------------
 */

TEST(a_skewed_clock_steals_a_live_lock)
{
    static const char *const strategies[] = {"redis-getset", "redis-token"};

    for (int i = 0; i < 2; i++) {
        struct server *a = contender_start("body.after-read=stop", "30000", "25000");
        struct server *b = contender_start("clock.wall=skew:45000", "30000", "25000");
        contenders_put(a, 1);
        struct crowd *first = contender_begin(a, strategies[i], 1);
        server_wait_stopped(a);
        if (i == 0)
            contender_buys(b, strategies[i], 2);
        else
            contender_waits_in_vain(b, strategies[i], 2);
        server_resume(a);
        contender_finish(first, 201, "");
        contenders_expect_oversold(1 - i);
        server_stop(a);
        server_stop(b);
    }
}

/* Two take over
 * ------------------------------------------------------------------------------------
 */

/* A has seen the ended stamp and stops, for longer than a call of Redis may take; B takes the lock
 * over and has read the stock; A goes on, and has to ask again. */
TEST(of_two_that_take_over_one_wins)
{
    struct server *a = contender_start("redis-getset.take-over=stop", "60000", "50000");
    struct server *b =
        contender_start("lock.acquired=pause:1200,body.after-read=stop", "60000", "50000");

    contenders_put(a, 1);
    end_stamp();
    struct crowd *first = contender_begin(a, "redis-getset", 1);
    server_wait_stopped(a);
    struct crowd *second = contender_begin(b, "redis-getset", 2);
    server_wait_stopped(b);
    int64_t asked = redis_probe_calls("setnx");
    server_resume(a);
    T_UNTIL(redis_probe_calls("setnx") != asked || crowd_wait(first, 1, clock_mono_us()));
    server_resume(b);
    contender_finish(second, 201, "");
    contender_finish(first, 409, "sold_out");
    witness_expect_exact(contenders.witness, contenders.product);
    server_stop(a);
    server_stop(b);
}

/* A has seen the ended stamp and stops; whoever took the lock over has unlocked it. A's GETSET
 * finds nothing, so A has no lock, and leaves one: it is nobody's until its stamp has ended. */
TEST(a_late_take_over_locks_for_nobody)
{
    struct server *a = contender_start("redis-getset.take-over=stop", "60000", "50000");
    struct server *b = start_patient();

    contenders_put(a, 1);
    end_stamp();
    struct crowd *first = contender_begin(a, "redis-getset", 1);
    server_wait_stopped(a);
    contenders_lock("DEL", "redis-getset");
    server_resume(a);
    T_UNTIL(contenders_lock("EXISTS", "redis-getset"));
    contender_waits_in_vain(b, "redis-getset", 2);
    assert_false(crowd_wait(first, 1, clock_mono_us()));
    end_stamp();
    contender_finish(first, 201, "");
    witness_expect_exact(contenders.witness, contenders.product);
    server_stop(a);
    server_stop(b);
}

/* Unlocked before the commit ---------------------------------------------------------------------
 */

TEST(an_unlock_before_the_commit_oversells)
{
    struct server *a = contender_start("control.unlocked=stop", "30000", "25000");
    struct server *b = contender_start(NULL, "30000", "25000");

    contenders_put(a, 1);
    struct crowd *first = contender_begin(a, "control-unlock-before-commit", 1);
    server_wait_stopped(a);
    struct crowd *second = contender_begin(b, "control-unlock-before-commit", 2);
    witness_wait_blocked(contenders.witness, 1);
    server_resume(a);
    contender_finish(first, 201, "");
    contender_finish(second, 201, "");
    contenders_expect_oversold(1);
    server_stop(a);
    server_stop(b);
}

TEST(an_unlock_after_the_commit_does_not)
{
    struct server *a = contender_start("lock.releasing=stop", "30000", "25000");
    struct server *b = contender_start(NULL, "30000", "25000");

    contenders_put(a, 1);
    struct crowd *first = contender_begin(a, "redis-token", 1);
    server_wait_stopped(a);
    struct crowd *second = contender_begin(b, "redis-token", 2);
    server_resume(a);
    contender_finish(first, 201, "");
    contender_finish(second, 409, "sold_out");
    witness_expect_exact(contenders.witness, contenders.product);
    server_stop(a);
    server_stop(b);
}

TEST_EACH(NULL, server_teardown)

int main(void)
{
    contenders_open("lock_failures");
    int failed = t_run_all(NULL, stack_restore);
    contenders_close();
    return failed != 0;
}
