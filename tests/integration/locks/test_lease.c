/*
 * redis-queue when its lock is not what it seems: a holder paused past its lease, a holder killed,
 * a Redis that forgets, a lock that is somebody else's. The fence and the rows decide; the audit
 * stays exact.
 */
#include "lib/fixtures/cases.h"
#include "lib/pg_proxy.h"
#include "lib/redis/redis_probe.h"
#include "lib/stack.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEASE_MS        "3000"
#define WORK_TIMEOUT_MS "2900"

enum { PATIENCE_US = 60000000, INSTANCES = 3, STOCK = 20 };

static struct {
    char *conninfo; /* owned */
    struct witness *witness;
    struct server *servers[INSTANCES];
    int64_t product;
} here;

static int start(void **state)
{
    (void)state;
    here.conninfo = stack_database_create("seckill_lease");
    here.witness = witness_open(here.conninfo);
    server_use_database(here.conninfo);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    witness_close(here.witness);
    stack_database_drop("seckill_lease");
    free(here.conninfo);
    return 0;
}

/* The first instance may have failpoints, and has a short lease then, so that a test can outlast
 * it. */
static void start_servers(const char *failpoints, const char *work_ms)
{
    for (int i = 0; i < INSTANCES; i++) {
        bool hasty = i == 0 && failpoints;
        server_use_failpoints(hasty ? failpoints : NULL);
        here.servers[i] = server_start("--lock-ttl-ms", hasty ? LEASE_MS : "60000",
                                       "--work-timeout-ms", hasty ? WORK_TIMEOUT_MS : "50000",
                                       "--work-ms", work_ms, "--lock-wait-ms", "40000");
    }
    server_use_failpoints(NULL);
    here.product++;
    shop_put(here.servers[0], here.product, STOCK, NULL);
}

static void stop_servers(void)
{
    for (int i = 0; i < INSTANCES; i++)
        server_stop(here.servers[i]);
}

static struct buy buy_as(int64_t user)
{
    return (struct buy){.strategy = "redis-queue", .product = here.product, .user = user};
}

static int64_t fence(void)
{
    return witness_number(here.witness, "SELECT fence FROM product WHERE id = %lld",
                          (long long)here.product);
}

static void wait_fence(int64_t least)
{
    T_UNTIL(fence() >= least);
}

/* One order at the first instance, which has begun a hold when this returns. */
static struct crowd *begin_hold(void)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = buy_as(1);
    int64_t before = fence();

    shop_crowd_buy(crowd, here.servers[0], &buy);
    crowd_send(crowd);
    wait_fence(before + 1);
    return crowd;
}

static void buy_elsewhere(int count)
{
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < count; i++) {
        struct buy buy = buy_as(100 + i);
        shop_crowd_buy(crowd, here.servers[1 + i % 2], &buy);
    }
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 201, "") != count)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
}

static void expect_sold(int64_t sold)
{
    assert_int_equal(witness_sale(here.witness, here.product).sold, sold);
    witness_expect_exact(here.witness, here.product);
    shop_expect_consistent(here.servers[1], here.product);
}

TEST(a_paused_holder_does_no_harm)
{
    start_servers("fence.registered=stop", "0");
    struct crowd *stale = begin_hold();
    server_wait_stopped(here.servers[0]);
    buy_elsewhere(6);
    server_resume(here.servers[0]);
    crowd_finish(stale, PATIENCE_US);
    int sold = crowd_count(stale, 201, "");
    if (sold + crowd_count(stale, 503, NULL) != 1)
        fail_msg("%s", crowd_summary(stale));
    crowd_destroy(stale);
    expect_sold(6 + sold);
    struct buy buy = buy_as(500);
    shop_expect_buy_soon(here.servers[0], &buy, 201); /* its Redis calls were out of time, too */
    expect_sold(7 + sold);
    stop_servers();
}

TEST(a_killed_holder_is_waited_out)
{
    start_servers("fence.registered=stop", "0");
    struct crowd *dead = begin_hold();
    server_wait_stopped(here.servers[0]);
    server_kill(here.servers[0]);
    here.servers[0] = here.servers[1];
    buy_elsewhere(4);
    crowd_finish(dead, PATIENCE_US);
    assert_int_equal(crowd_lost(dead), 1);
    crowd_destroy(dead);
    expect_sold(4);
    server_stop(here.servers[1]);
    server_stop(here.servers[2]);
}

TEST(redis_forgets_everything)
{
    struct crowd *crowd = crowd_create();

    start_servers(NULL, "20");
    for (int i = 0; i < 60; i++) {
        struct buy buy = buy_as(1 + i);
        shop_crowd_buy(crowd, here.servers[i % INSTANCES], &buy);
    }
    crowd_send(crowd);
    for (int flush = 1; flush < 12; flush++) {
        redis_probe(NULL, 0, "FLUSHALL");
        clock_sleep_until(clock_mono_us() + 10000);
    }
    crowd_finish(crowd, PATIENCE_US);
    int sold = crowd_count(crowd, 201, "");
    if (sold + crowd_count(crowd, 409, "sold_out") + crowd_count(crowd, 503, NULL) != 60)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    expect_sold(sold);
    while (sold < STOCK) {
        struct buy buy = buy_as(1000 + sold++);
        shop_expect_buy(here.servers[0], &buy, 201, "", NULL);
    }
    struct buy late = buy_as(2000);
    shop_expect_buy(here.servers[1], &late, 409, "sold_out", NULL);
    expect_sold(STOCK);
    stop_servers();
}

/* The first instance's `statement` is held back until another instance has had the lock: it is
 * refused. */
static void meet_a_later_holder(struct crowd *stale, struct pg_proxy *proxy)
{
    crowd_send(stale);
    pg_proxy_wait_fault(proxy);
    redis_probe(NULL, 0, "FLUSHALL");
    int64_t before = fence();
    struct crowd *later = crowd_create();
    struct buy buy = buy_as(300);
    shop_crowd_buy(later, here.servers[1], &buy);
    crowd_send(later);
    wait_fence(before + 1);
    crowd_finish(later, PATIENCE_US);
    assert_int_equal(crowd_count(later, 201, ""), 1);
    crowd_destroy(later);
    pg_proxy_release(proxy);
    crowd_finish(stale, PATIENCE_US);
    if (crowd_count(stale, 503, "lease_lost") != 1)
        fail_msg("the stale holder: %s", crowd_summary(stale));
    crowd_destroy(stale);
}

TEST(a_stale_holder_is_refused)
{
    char id[SHOP_ID_SIZE];
    char *folder = stack_socket_folder();
    struct pg_proxy *proxy = pg_proxy_create(folder);
    char *through = stack_database_through(here.conninfo, pg_proxy_folder(proxy));
    struct buy buy = buy_as(1);

    here.servers[0] = server_start("--database", through, "--lock-ttl-ms", "60000",
                                   "--work-timeout-ms", "50000", "--lock-wait-ms", "60000");
    here.servers[1] = server_start("--lock-ttl-ms", "60000", "--work-timeout-ms", "50000",
                                   "--lock-wait-ms", "60000");
    buy.product = ++here.product;
    shop_put(here.servers[0], here.product, STOCK, NULL);

    struct crowd *crowd = crowd_create();
    shop_crowd_buy(crowd, here.servers[0], &buy);
    pg_proxy_arm(proxy, "batch_buy", PG_FAULT_HOLD);
    meet_a_later_holder(crowd, proxy);
    expect_sold(1);

    crowd = crowd_create();
    buy.key = "stale";
    shop_crowd_buy(crowd, here.servers[0], &buy);
    buy.key = NULL;
    pg_proxy_arm(proxy, "batch_lock", PG_FAULT_HOLD);
    meet_a_later_holder(crowd, proxy);
    expect_sold(2);

    crowd = crowd_create();
    buy.quantity = 5;
    shop_crowd_restock(crowd, here.servers[0], &buy);
    pg_proxy_arm(proxy, "stock_add", PG_FAULT_HOLD);
    meet_a_later_holder(crowd, proxy);
    expect_sold(3);
    assert_int_equal(witness_sale(here.witness, here.product).restocked, 0);

    buy.quantity = 1;
    shop_expect_buy(here.servers[0], &buy, 201, "", id);
    crowd = crowd_create();
    shop_crowd_cancel(crowd, here.servers[0], id);
    pg_proxy_arm(proxy, "stock_return_fenced", PG_FAULT_HOLD);
    meet_a_later_holder(crowd, proxy);
    expect_sold(5);
    assert_int_equal(witness_sale(here.witness, here.product).cancelled, 0);

    server_stop(here.servers[0]);
    server_stop(here.servers[1]);
    pg_proxy_destroy(proxy);
    free(through);
    free(folder);
}

/* While the holder works its lock is given to a stranger: neither renewal nor release may touch it.
 * The work goes on for longer than a third of the lease, when the renewal is due. */
TEST(a_strangers_lock_is_left_alone)
{
    char text[32];

    start_servers("fence.registered=hold", "1200");
    struct crowd *crowd = begin_hold();
    redis_probe(NULL, 0, "SET seckill:lock:redis-fair:%lld stranger PX 60000",
                (long long)here.product);
    server_let_go(here.servers[0]);
    crowd_finish(crowd, PATIENCE_US);
    crowd_destroy(crowd);
    /* The answer comes before the release; the release is counted. */
    T_UNTIL(server_metric(here.servers[0], "seckill_lease_overruns_total", "redis-queue") > 0);
    redis_probe(text, sizeof text, "GET seckill:lock:redis-fair:%lld", (long long)here.product);
    assert_string_equal(text, "stranger");
    assert_in_range(
        redis_probe(NULL, 0, "PTTL seckill:lock:redis-fair:%lld", (long long)here.product), 30000,
        60000);
    redis_probe(NULL, 0, "DEL seckill:lock:redis-fair:%lld", (long long)here.product);
    struct buy buy = buy_as(2);
    shop_expect_buy(here.servers[1], &buy, 201, "", NULL);
    witness_expect_exact(here.witness, here.product);
    stop_servers();
}

/* PostgreSQL is away while a COMMIT is to be settled: the hold outlasts its lease, which is renewed
 * all the time, so that no other instance comes in between. */
TEST(a_long_hold_keeps_its_lease)
{
    enum { OUTLAST_US = 10000000 };
    char holder[64];
    char now[64];
    char *folder = stack_socket_folder();
    struct pg_proxy *proxy = pg_proxy_create(folder);
    char *through = stack_database_through(here.conninfo, pg_proxy_folder(proxy));
    struct crowd *crowd = crowd_create();
    struct buy buy = buy_as(1);

    here.servers[0] = server_start("--database", through, "--lock-ttl-ms", "9000",
                                   "--work-timeout-ms", "8900", "--lock-wait-ms", "30000");
    buy.product = ++here.product;
    shop_put(here.servers[0], here.product, STOCK, NULL);
    shop_crowd_buy(crowd, here.servers[0], &buy);
    pg_proxy_refuse_after_fault(proxy, true);
    pg_proxy_arm(proxy, "batch_buy", PG_FAULT_LOSE_REPLY);
    crowd_send(crowd);
    pg_proxy_wait_fault(proxy);
    redis_probe(holder, sizeof holder, "GET seckill:lock:redis-fair:%lld", (long long)here.product);
    assert_int_equal(strlen(holder), 32);
    int64_t until_us = clock_mono_us() + OUTLAST_US;
    while (clock_mono_us() < until_us) {
        redis_probe(now, sizeof now, "GET seckill:lock:redis-fair:%lld", (long long)here.product);
        assert_string_equal(now, holder);
        clock_sleep_until(clock_mono_us() + 20000);
    }
    pg_proxy_refuse_after_fault(proxy, false);
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 201, ""), 1);
    crowd_destroy(crowd);
    server_stop(here.servers[0]);
    assert_int_equal(witness_sale(here.witness, here.product).sold, 1);
    pg_proxy_destroy(proxy);
    free(through);
    free(folder);
}

/* Whether each instance sold a tenth of it, at least. */
static bool sell_in_turns(void)
{
    enum { EACH = 60, UNITS = 120 };
    struct crowd *crowd = crowd_create();
    int sold[INSTANCES] = {0};
    bool fair = true;

    here.product++;
    shop_put(here.servers[0], here.product, UNITS, NULL);
    for (int i = 0; i < EACH * INSTANCES; i++) {
        struct buy buy = buy_as(1 + i);
        shop_crowd_buy(crowd, here.servers[i % INSTANCES], &buy);
    }
    crowd_finish(crowd, PATIENCE_US);
    for (int i = 0; i < EACH * INSTANCES; i++)
        sold[i % INSTANCES] += crowd_at(crowd, i)->reply.status == 201;
    for (int i = 0; i < INSTANCES; i++)
        fair = fair && sold[i] >= UNITS / 10;
    if (!fair)
        print_message("the instances sold %d, %d and %d\n", sold[0], sold[1], sold[2]);
    assert_int_equal(crowd_count(crowd, 201, ""), UNITS);
    crowd_destroy(crowd);
    expect_sold(UNITS);
    return fair;
}

/* All are ready before it begins. An instance that stood still for all of a sale has had no turn in
 * it, but in the next one. */
TEST(instances_take_turns)
{
    enum { SALES = 5 };
    bool fair = false;

    for (int i = 0; i < INSTANCES; i++)
        here.servers[i] =
            server_start("--max-batch", "4", "--work-ms", "100", "--lock-wait-ms", "60000",
                         "--work-timeout-ms", "50000", "--lock-ttl-ms", "60000");
    here.product++;
    shop_put(here.servers[0], here.product, INSTANCES, NULL);
    for (int i = 0; i < INSTANCES; i++) {
        struct buy buy = buy_as(1 + i);
        shop_expect_buy(here.servers[i], &buy, 201, "", NULL);
    }
    for (int i = 0; i < SALES && !fair; i++)
        fair = sell_in_turns();
    assert_true(fair);
    stop_servers();
}

TEST_GROUP(start, stop)
TEST_EACH(NULL, server_teardown)
