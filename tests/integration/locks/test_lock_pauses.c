/*
 * Leases that end under the work: a holder that is paused, a Redis that forgets, work that takes
 * too long; and beside each the strategy that survives it.
 *
 * A stopped process may not outstay its own work allowance with a transaction open, or PostgreSQL
 * ends it: so the pauses that outlast a lease are split in two, before and within the work.
 */
#include "lib/fixtures/rivals.h"
#include "lib/redis/redis_probe.h"
#include "lib/stack.h"
#include "lib/t.h"

#include "base/clock.h"

#include <signal.h>

/* Paused past its lease -------------------------------------------------------------------------
 */

enum { PAUSED_STOCK = 2 };

struct paused {
    const char *strategy;
    const char *failpoints;
    int64_t product;
    struct server *a;
    struct crowd *late;
    struct crowd *next;
};

static struct crowd *begin_selling_out(struct server *server, const char *strategy)
{
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < PAUSED_STOCK; i++) {
        struct buy buy = rival_order(strategy, 2 + i);
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    return crowd;
}

static void finish_selling_out(struct crowd *crowd)
{
    crowd_finish(crowd, RIVALS_PATIENCE_US);
    if (crowd_count(crowd, 201, "") != PAUSED_STOCK)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
}

/* A stops with the lock, and again after it has read the stock; B waits for the lease to end, and
 * sells all of it; A goes on. B sells two, so that the figure that A has in its hand is wrong also
 * where nothing but the figure is written. Several strategies go through it at once, each on a
 * product of its own, for most of it is waiting for the leases. */
static void pause_holders(struct paused *rows, int count, int status, const char *code)
{
    struct server *b = rival_start(NULL, "12000", "11400");

    for (int i = 0; i < count; i++) {
        rows[i].a = rival_start(rows[i].failpoints, "12000", "11400");
        rivals_put(rows[i].a, PAUSED_STOCK);
        rows[i].product = rivals.product;
    }
    int64_t begun_us = clock_mono_us();
    for (int i = 0; i < count; i++) {
        rivals.product = rows[i].product;
        rows[i].late = rival_begin(rows[i].a, rows[i].strategy, 1);
    }
    for (int i = 0; i < count; i++) {
        server_wait_stopped(rows[i].a);
        rivals.product = rows[i].product;
        rows[i].next = begin_selling_out(b, rows[i].strategy);
    }
    /* Five seconds are left to begin the work in, and six from the lease's end to that of the work.
     */
    clock_sleep_until(begun_us + 7 * CLOCK_US_PER_S);
    for (int i = 0; i < count; i++)
        server_resume(rows[i].a);
    for (int i = 0; i < count; i++)
        server_wait_stopped(rows[i].a);
    for (int i = 0; i < count; i++)
        finish_selling_out(rows[i].next);
    for (int i = 0; i < count; i++)
        server_resume(rows[i].a);
    for (int i = 0; i < count; i++) {
        rival_finish(rows[i].late, status, code);
        server_kill(rows[i].a);
    }
    server_stop(b);
}

static void a_holder_paused_past_its_lease_oversells(void **state)
{
    (void)state;
    static const char *const strategies[] = {"redis-setnx", "redis-getset",  "redis-expiry",
                                             "redis-uuid",  "redis-token",   "redis-reentrant",
                                             "wllock",      "redis-watchdog"};
    enum { AT_ONCE = 4, ROUNDS = sizeof strategies / sizeof *strategies / AT_ONCE };

    for (int round = 0; round < ROUNDS; round++) {
        struct paused rows[AT_ONCE];
        /* The renewer would wake with its process, so it is kept asleep. */
        for (int i = 0; i < AT_ONCE; i++)
            rows[i] = (struct paused){
                .strategy = strategies[round * AT_ONCE + i],
                .failpoints = "lock.acquired=stop,body.after-read=stop,renewer.renew=pause:60000"};
        pause_holders(rows, AT_ONCE, 201, "");
        for (int i = 0; i < AT_ONCE; i++) {
            rivals.product = rows[i].product;
            rivals_expect_oversold(1);
        }
    }
}

static void a_fence_refuses_the_paused_holder(void **state)
{
    (void)state;
    struct paused rows[] = {
        {.strategy = "redis-fenced", .failpoints = "lock.acquired=stop,body.after-read=stop"},
        {.strategy = "redis-queue",
         .failpoints = "lock.acquired=stop,fence.registered=stop,renewer.renew=pause:60000"},
    };

    pause_holders(rows, 2, 503, "lease_lost");
    for (int i = 0; i < 2; i++)
        witness_expect_exact(rivals.witness, rows[i].product);
}

/* Stopped between its lock and its first look at the stock: it does not even look. */
static void a_lease_that_has_ended_is_not_worked_under(void **state)
{
    (void)state;
    static const char *const strategies[] = {"redis-token", "redis-watchdog", "lock-row"};

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct server *a =
            rival_start("lock.acquired=stop,renewer.renew=pause:60000", "1000", "900");
        rivals_put(a, 5);
        struct crowd *late = rival_begin(a, strategies[i], 1);
        server_wait_stopped(a);
        clock_sleep_until(clock_mono_us() + 1000 * CLOCK_US_PER_MS);
        server_resume(a);
        rival_finish(late, 503, "lease_lost");
        assert_int_equal(witness_sale(rivals.witness, rivals.product).orders, 0);
        server_kill(a);
    }
}

/* Redis forgets the lock ------------------------------------------------------------------------
 */

static void forget_lock(const char *strategy, const char *failpoints, int status, const char *code)
{
    struct server *a = rival_start(failpoints, "60000", "50000");
    struct server *b = rival_start(NULL, "60000", "50000");

    rivals_put(a, 1);
    struct crowd *first = rival_begin(a, strategy, 1);
    server_wait_stopped(a);
    redis_probe(NULL, 0, "FLUSHALL");
    rival_buys(b, strategy, 2);
    server_resume(a);
    rival_finish(first, status, code);
    server_stop(a);
    server_stop(b);
}

static void a_redis_that_forgets_gives_the_lock_to_two(void **state)
{
    (void)state;
    static const char *const strategies[] = {"redis-token", "redis-watchdog", "wllock"};

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        forget_lock(strategies[i], "body.after-read=stop", 201, "");
        rivals_expect_oversold(1);
    }
    forget_lock("redis-fenced", "body.after-read=stop", 503, "lease_lost");
    witness_expect_exact(rivals.witness, rivals.product);
    forget_lock("redis-queue", "fence.registered=stop", 503, "lease_lost");
    witness_expect_exact(rivals.witness, rivals.product);
}

/* Work that outlasts its lease -------------------------------------------------------------------
 */

/* A's worker alone is slow: six seconds before its work and, within it, until its lease of ten is
 * over; its watchdog lives. `oversells`: B then sells first. */
static void outlast(const char *strategy, const char *lock, bool oversells)
{
    struct server *a =
        rival_start("lock.acquired=pause:6000,body.after-read=hold", "10000", "9600");
    struct server *b = rival_start(NULL, "60000", "50000");

    rivals_put(a, 1);
    struct crowd *first = rival_begin(a, strategy, 1);
    int64_t begun_us = clock_mono_us();
    while (!rivals_lock("EXISTS", lock))
        look_again(begun_us);
    struct crowd *second = rival_begin(b, strategy, 2);
    if (oversells)
        rival_finish(second, 201, "");
    else
        clock_sleep_until(begun_us + 11 * CLOCK_US_PER_S);
    server_let_go(a);
    rival_finish(first, 201, "");
    if (!oversells)
        rival_finish(second, 409, "sold_out");
    server_stop(a);
    server_stop(b);
}

static void an_explicit_lease_switches_the_watchdog_off(void **state)
{
    (void)state;
    outlast("control-watchdog-explicit-lease", "watchdog-explicit-lease", true);
    rivals_expect_oversold(1);
    outlast("redis-watchdog", "redis-watchdog", false);
    witness_expect_exact(rivals.witness, rivals.product);
}

/* An order that waits for a row does not go on when its lease is lost: it comes again, under one of
 * its own. */
static void a_lost_lease_ends_the_work(void **state)
{
    (void)state;
    struct server *a = rival_start(NULL, "6000", "5900");

    rivals_put(a, 2);
    /* Every other write of the row now waits inside PostgreSQL. */
    witness_run(rivals.witness, "BEGIN; UPDATE product SET name = name WHERE id = %lld",
                (long long)rivals.product);
    int64_t begun_us = clock_mono_us();
    struct crowd *first = rival_begin(a, "redis-watchdog", 1);
    while (!rivals_lock("DEL", "redis-watchdog"))
        look_again(begun_us);
    while (!rivals_lock("EXISTS", "redis-watchdog"))
        look_again(begun_us);
    witness_run(rivals.witness, "ROLLBACK");
    rival_finish(first, 201, "");
    witness_expect_exact(rivals.witness, rivals.product);
    rival_buys(a, "redis-watchdog", 2);
    server_stop(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_holder_paused_past_its_lease_oversells, server_teardown),
        cmocka_unit_test_teardown(a_fence_refuses_the_paused_holder, server_teardown),
        cmocka_unit_test_teardown(a_lease_that_has_ended_is_not_worked_under, server_teardown),
        cmocka_unit_test_teardown(a_redis_that_forgets_gives_the_lock_to_two, server_teardown),
        cmocka_unit_test_teardown(an_explicit_lease_switches_the_watchdog_off, server_teardown),
        cmocka_unit_test_teardown(a_lost_lease_ends_the_work, server_teardown),
    };

    rivals_open("lock_pauses");
    int failed = cmocka_run_group_tests(tests, NULL, stack_restore);
    rivals_close();
    return failed != 0;
}
