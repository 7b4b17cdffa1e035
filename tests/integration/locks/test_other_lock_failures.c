/*
 * The locks elsewhere through whole servers: sales are exact, a store that is away means 503 and
 * service after it is back, and the failure that each lock is kept for sells what is not there.
 */
#include "lib/fixtures/shop.h"
#include "lib/stack.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INSTANCES = 3, BUYERS = 60, STOCK = 25 };
#define PATIENCE_US t_patience_us()

static const struct row {
    const char *strategy;
    const char *servers[2]; /* what must be gone for the store to be gone */
} rows[] = {
    {"redlock", {"redlock1", "redlock2"}},
    {"memcached-lock", {"memcached", NULL}},
    {"zookeeper-lock", {"zookeeper", NULL}},
};
enum { ROWS = sizeof rows / sizeof *rows };

static struct witness *witness;
static int64_t product;

static struct server *start(const char *failpoints)
{
    server_use_failpoints(failpoints);
    struct server *server = server_start("--lock-ttl-ms", "60000", "--work-timeout-ms", "50000");
    server_use_failpoints(NULL);
    return server;
}

static struct buy order(const char *strategy, int64_t user)
{
    return (struct buy){
        .strategy = strategy, .more = "&wait_ms=40000", .product = product, .user = user};
}

static void buys(struct server *server, const char *strategy, int64_t user)
{
    struct buy buy = order(strategy, user);

    shop_expect_buy(server, &buy, 201, "", NULL);
}

TEST(three_instances_sell_what_is_there)
{
    struct server *servers[INSTANCES];

    for (int i = 0; i < INSTANCES; i++)
        servers[i] = server_start(NULL);
    for (int row = 0; row < ROWS; row++) {
        struct crowd *crowd = crowd_create();
        shop_put(servers[0], ++product, STOCK, NULL);
        for (int i = 0; i < BUYERS; i++) {
            struct buy buy = order(rows[row].strategy, 1 + i);
            shop_crowd_buy(crowd, servers[i % INSTANCES], &buy);
        }
        crowd_finish(crowd, PATIENCE_US);
        if (crowd_count(crowd, 201, "") != STOCK ||
            crowd_count(crowd, 409, "sold_out") != BUYERS - STOCK)
            fail_msg("%s: %s", rows[row].strategy, crowd_summary(crowd));
        crowd_destroy(crowd);
        witness_expect_exact(witness, product);
    }
    for (int i = 0; i < INSTANCES; i++)
        server_stop(servers[i]);
}

TEST(a_store_that_is_away_means_503)
{
    struct server *server = server_start(NULL);

    for (int row = 0; row < ROWS; row++) {
        struct buy buy = order(rows[row].strategy, 1);
        struct buy other = order("conditional", 2);
        shop_put(server, ++product, STOCK, NULL);
        buy.product = other.product = product;
        shop_expect_buy(server, &buy, 201, "", NULL);
        for (int i = 0; i < 2 && rows[row].servers[i]; i++)
            stack_kill(rows[row].servers[i], SIGKILL);
        for (int i = 0; i < 3; i++)
            shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
        shop_expect_buy(server, &other, 201, "", NULL);
        assert_int_equal(server_status(server, "GET", "/readyz", NULL, NULL), 200);
        stack_up();
        shop_expect_buy_soon(server, &buy, 201);
        shop_expect_buy(server, &buy, 201, "", NULL);
        witness_expect_exact(witness, product);
    }
    server_stop(server);
}

TEST(a_dead_holder_is_waited_out)
{
    char system[32];

    /* Locks of this run alone: one that is not given back is met by no later one. */
    snprintf(system, sizeof system, "dead-%d", (int)getpid());
    for (int row = 0; row < ROWS; row++) {
        server_use_failpoints("lock.acquired=kill");
        struct server *a = server_start("--system-name", system, "--lock-ttl-ms", "12000",
                                        "--work-timeout-ms", "11900");
        server_use_failpoints(NULL);
        struct server *b = server_start("--system-name", system);
        struct crowd *crowd = crowd_create();
        char log[64];
        shop_put(b, ++product, STOCK, NULL);
        struct buy buy = order(rows[row].strategy, 1);
        shop_crowd_buy(crowd, a, &buy);
        crowd_send(crowd);
        assert_int_equal(server_wait(a, log, sizeof log), 128 + SIGKILL);
        crowd_finish(crowd, PATIENCE_US);
        crowd_destroy(crowd);
        struct buy hasty = order(rows[row].strategy, 2);
        hasty.more = "&wait_ms=0";
        shop_expect_wait_timeout(b, &hasty);
        buys(b, rows[row].strategy, 3);
        witness_expect_exact(witness, product);
        server_stop(b);
    }
}

/* Sends the order until the server stops in it. A node of redlock's may be late, and its vote be
 * missing. */
static struct crowd *stop_in(struct server *server, const struct buy *buy)
{
    for (int64_t until_us = clock_mono_us() + PATIENCE_US; clock_mono_us() < until_us;) {
        struct crowd *crowd = crowd_create();
        shop_crowd_buy(crowd, server, buy);
        crowd_send(crowd);
        while (!crowd_wait(crowd, 1, clock_mono_us() + 5000))
            if (server_has_stopped(server))
                return crowd;
        if (crowd_count(crowd, 503, "backend_unavailable") != 1)
            fail_msg("%s", crowd_summary(crowd));
        crowd_destroy(crowd);
    }
    fail_msg("the server does not stop");
    return NULL;
}

/* A has decided and stops under its lock; the store forgets; B sells the last unit; A goes on. */
static void forget_lock(const char *strategy, void (*forget)(void), int status, const char *code)
{
    struct server *a = start("body.after-read=stop");
    struct server *b = start(NULL);

    shop_put(a, ++product, 1, NULL);
    struct buy buy = order(strategy, 1);
    struct crowd *crowd = stop_in(a, &buy);
    forget();
    buy.user = 2;
    shop_expect_buy_soon(b, &buy, 201);
    server_resume(a);
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, status, code) != 1)
        fail_msg("%s: %s instead of %d %s", strategy, crowd_summary(crowd), status, code);
    crowd_destroy(crowd);
    server_stop(a);
    server_stop(b);
}

static void expect_oversold(int64_t units)
{
    struct sale sale = witness_sale(witness, product);

    assert_int_equal(sale.sold - sale.initial_stock, units);
}

static void restart_second_node(void)
{
    stack_kill("redlock2", SIGKILL);
    stack_up();
}

static void restart_locks(void)
{
    stack_kill("locks", SIGKILL);
    stack_up();
}

/* With one node away A has a bare majority; it comes back, and one of A's two forgets. */
static void restart_third_then_second(void)
{
    stack_up();
    restart_second_node();
}

TEST(a_node_that_forgets_makes_redlock_oversell)
{
    stack_kill("redlock3", SIGKILL);
    forget_lock("redlock", restart_third_then_second, 201, "");
    expect_oversold(1);
    forget_lock("redis-fenced", restart_locks, 503, "lease_lost");
    witness_expect_exact(witness, product);
}

/* The votes are there, and have taken longer than the lease: they are given back, and asked for
 * again. */
TEST(a_late_majority_is_none)
{
    server_use_failpoints("redlock.voted=pause:5000");
    struct server *server = server_start("--lock-ttl-ms", "4000", "--work-timeout-ms", "3900");

    server_use_failpoints(NULL);
    shop_put(server, ++product, 1, NULL);
    buys(server, "redlock", 1);
    witness_expect_exact(witness, product);
    server_stop(server);
}

static void restart_memcached(void)
{
    stack_kill("memcached", SIGKILL);
    stack_up();
}

TEST(a_restarted_memcached_oversells)
{
    forget_lock("memcached-lock", restart_memcached, 201, "");
    expect_oversold(1);
}

/* A has seen its own token and stops; its lease ends; B has the lock, and has read the stock; A
 * goes on with its release. */
TEST(a_late_release_of_memcached_frees_nobody)
{
    server_use_failpoints("memcached.release=stop");
    struct server *a = server_start("--lock-ttl-ms", "3000", "--work-timeout-ms", "2900");
    struct server *b = start("body.after-read=stop");
    struct server *c = start(NULL);
    struct crowd *first = crowd_create();
    struct crowd *second = crowd_create();

    shop_put(a, ++product, 2, NULL);
    struct buy buy = order("memcached-lock", 1);
    shop_crowd_buy(first, a, &buy);
    crowd_send(first);
    server_wait_stopped(a);
    buy.user = 2;
    shop_crowd_buy(second, b, &buy);
    crowd_send(second);
    server_wait_stopped(b);
    server_resume(a);
    T_UNTIL(server_metric(a, "seckill_lease_overruns_total", "memcached-lock") != 0);
    buy.user = 3;
    buy.more = "&wait_ms=600";
    shop_expect_wait_timeout(c, &buy);
    server_resume(b);
    crowd_finish(first, PATIENCE_US);
    crowd_finish(second, PATIENCE_US);
    assert_int_equal(crowd_count(first, 201, "") + crowd_count(second, 201, ""), 2);
    crowd_destroy(first);
    crowd_destroy(second);
    witness_expect_exact(witness, product);
    server_stop(a);
    server_stop(b);
    server_stop(c);
}

TEST_EACH(NULL, server_teardown)

int main(void)
{
    stack_need_other_locks();
    char *conninfo = stack_database_create("seckill_other_locks");

    server_use_database(conninfo);
    struct server *first = server_start(NULL); /* makes the schema */
    server_stop(first);
    witness = witness_open(conninfo);
    int failed = t_run_all(NULL, stack_restore);
    witness_close(witness);
    stack_database_drop("seckill_other_locks");
    free(conninfo);
    return failed != 0;
}
