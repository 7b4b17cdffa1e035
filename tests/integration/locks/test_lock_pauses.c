/*
 * Leases that end under the work: a holder that is paused, a Redis that forgets, work that takes
 * too long; and beside each the strategy that survives it.
 *
 * A stopped process may not outstay its own work allowance with a transaction open, or PostgreSQL
 * ends it: so the pauses that outlast a lease are split in two, before and within the work.
 */
#include "lib/fixtures/contenders.h"
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

/* One order, for of two the one that comes late to a lock of redis-getset can hold up the other. */
static struct crowd *begin_selling_out(struct server *server, const char *strategy)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = contender_order(strategy, 2);

    buy.quantity = PAUSED_STOCK;
    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    return crowd;
}

/* A stops with the lock, and again after it has read the stock; B waits for the lease to end, sells
 * all of it and unlocks, which it does after it has answered; A goes on. It is two, so that the
 * figure that A has in its hand is wrong also where nothing but the figure is written. Several
 * strategies go through it at once, each on a product of its own, for most of it is waiting for the
 * leases. */
static void pause_holders(struct paused *rows, int count, int status, const char *code)
{
    struct server *b = contender_start(NULL, "12000", "11400");

    for (int i = 0; i < count; i++) {
        rows[i].a = contender_start(rows[i].failpoints, "12000", "11400");
        contenders_put(rows[i].a, PAUSED_STOCK);
        rows[i].product = contenders.product;
    }
    int64_t begun_us = clock_mono_us();
    for (int i = 0; i < count; i++) {
        contenders.product = rows[i].product;
        rows[i].late = contender_begin(rows[i].a, rows[i].strategy, 1);
    }
    for (int i = 0; i < count; i++) {
        server_wait_stopped(rows[i].a);
        contenders.product = rows[i].product;
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
        contender_finish(rows[i].next, 201, "");
    for (int i = 0; i < count; i++) {
        contenders.product = rows[i].product;
        T_UNTIL(!contenders_lock("EXISTS", contender_lock(rows[i].strategy)));
    }
    for (int i = 0; i < count; i++)
        server_resume(rows[i].a);
    for (int i = 0; i < count; i++) {
        contender_finish(rows[i].late, status, code);
        server_kill(rows[i].a);
    }
    server_stop(b);
}

TEST(a_holder_paused_past_its_lease_oversells)
{
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
            contenders.product = rows[i].product;
            contenders_expect_oversold(1);
        }
    }
}

TEST(a_fence_refuses_the_paused_holder)
{
    struct paused rows[] = {
        {.strategy = "redis-fenced", .failpoints = "lock.acquired=stop,body.after-read=stop"},
        {.strategy = "redis-queue",
         .failpoints = "lock.acquired=stop,fence.registered=stop,renewer.renew=pause:60000"},
    };

    pause_holders(rows, 2, 503, "lease_lost");
    for (int i = 0; i < 2; i++)
        witness_expect_exact(contenders.witness, rows[i].product);
}

/* Stopped between its lock and its first look at the stock: it does not even look. */
TEST(a_lease_that_has_ended_is_not_worked_under)
{
    static const char *const strategies[] = {"redis-token", "redis-watchdog", "lock-row"};

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct server *a =
            contender_start("lock.acquired=stop,renewer.renew=pause:60000", "1000", "900");
        contenders_put(a, 5);
        struct crowd *late = contender_begin(a, strategies[i], 1);
        server_wait_stopped(a);
        clock_sleep_until(clock_mono_us() + 1000 * CLOCK_US_PER_MS);
        server_resume(a);
        contender_finish(late, 503, "lease_lost");
        assert_int_equal(witness_sale(contenders.witness, contenders.product).orders, 0);
        server_kill(a);
    }
}

/* In one server, whose other sessions go on: an order asks to stand still past its lease. */
TEST(an_order_asks_to_stall)
{
    static const struct {
        const char *strategy;
        int status;
        const char *code;
    } cases[] = {
        {"redis-token", 201, ""}, {"redis-watchdog", 201, ""}, {"redis-fenced", 503, "lease_lost"}};
    enum { CASES = sizeof cases / sizeof *cases };
    struct server *server = server_start("--lock-ttl-ms", "12000", "--work-timeout-ms", "11900",
                                         "--stall-ms", "4000", "--stock-redis", "unix:///nowhere");
    struct crowd *late[CASES];
    struct crowd *next[CASES];
    int64_t products[CASES];

    for (int i = 0; i < CASES; i++) {
        contenders_put(server, PAUSED_STOCK);
        products[i] = contenders.product;
    }
    for (int i = 0; i < CASES; i++) {
        struct buy buy = contender_order(cases[i].strategy, 1);
        late[i] = crowd_create();
        buy.product = contenders.product = products[i];
        buy.more = "&wait_ms=40000&stall=true";
        shop_crowd_buy(late[i], server, &buy);
        crowd_send(late[i]);
        T_UNTIL(contenders_lock("EXISTS", contender_lock(cases[i].strategy)));
        next[i] = begin_selling_out(server, cases[i].strategy);
    }
    for (int i = 0; i < CASES; i++) {
        contender_finish(next[i], 201, "");
        contender_finish(late[i], cases[i].status, cases[i].code);
        contenders.product = products[i];
        if (*cases[i].code)
            witness_expect_exact(contenders.witness, contenders.product);
        else
            contenders_expect_oversold(1);
    }
    server_stop(server);
}

/* Redis forgets the lock ------------------------------------------------------------------------
 */

static void forget_lock(const char *strategy, const char *failpoints, int status, const char *code)
{
    struct server *a = contender_start(failpoints, "60000", "50000");
    struct server *b = contender_start(NULL, "60000", "50000");

    contenders_put(a, 1);
    struct crowd *first = contender_begin(a, strategy, 1);
    server_wait_stopped(a);
    redis_probe(NULL, 0, "FLUSHALL");
    contender_buys(b, strategy, 2);
    server_resume(a);
    contender_finish(first, status, code);
    server_stop(a);
    server_stop(b);
}

TEST(a_redis_that_forgets_gives_the_lock_to_two)
{
    static const char *const strategies[] = {"redis-token", "redis-watchdog", "wllock"};

    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        forget_lock(strategies[i], "body.after-read=stop", 201, "");
        contenders_expect_oversold(1);
    }
    forget_lock("redis-fenced", "body.after-read=stop", 503, "lease_lost");
    witness_expect_exact(contenders.witness, contenders.product);
    forget_lock("redis-queue", "fence.registered=stop", 503, "lease_lost");
    witness_expect_exact(contenders.witness, contenders.product);
}

/* Work that outlasts its lease -------------------------------------------------------------------
 */

/* A's worker alone is slow: six seconds before its work and, within it, until its lease of ten is
 * over; its watchdog lives. `oversells`: B then sells first. */
static void outlast(const char *strategy, const char *lock, bool oversells)
{
    struct server *a =
        contender_start("lock.acquired=pause:6000,body.after-read=hold", "10000", "9600");
    struct server *b = contender_start(NULL, "60000", "50000");

    contenders_put(a, 1);
    struct crowd *first = contender_begin(a, strategy, 1);
    int64_t begun_us = clock_mono_us();
    T_UNTIL(contenders_lock("EXISTS", lock));
    struct crowd *second = contender_begin(b, strategy, 2);
    if (oversells)
        contender_finish(second, 201, "");
    else
        clock_sleep_until(begun_us + 11 * CLOCK_US_PER_S);
    server_let_go(a);
    contender_finish(first, 201, "");
    if (!oversells)
        contender_finish(second, 409, "sold_out");
    server_stop(a);
    server_stop(b);
}

TEST(an_explicit_lease_switches_the_watchdog_off)
{
    outlast("control-watchdog-explicit-lease", "watchdog-explicit-lease", true);
    contenders_expect_oversold(1);
    outlast("redis-watchdog", "redis-watchdog", false);
    witness_expect_exact(contenders.witness, contenders.product);
}

/* An order that waits for a row does not go on when its lease is lost: it comes again, under one of
 * its own. */
TEST(a_lost_lease_ends_the_work)
{
    struct server *a = contender_start(NULL, "6000", "5900");

    contenders_put(a, 2);
    /* Every other write of the row now waits inside PostgreSQL. */
    witness_run(contenders.witness, "BEGIN; UPDATE product SET name = name WHERE id = %lld",
                (long long)contenders.product);
    struct crowd *first = contender_begin(a, "redis-watchdog", 1);
    T_UNTIL(contenders_lock("DEL", "redis-watchdog"));
    T_UNTIL(contenders_lock("EXISTS", "redis-watchdog"));
    witness_run(contenders.witness, "ROLLBACK");
    contender_finish(first, 201, "");
    witness_expect_exact(contenders.witness, contenders.product);
    contender_buys(a, "redis-watchdog", 2);
    server_stop(a);
}

TEST_EACH(NULL, server_teardown)

int main(void)
{
    contenders_open("lock_pauses");
    int failed = t_run_all(NULL, stack_restore);
    contenders_close();
    return failed != 0;
}
