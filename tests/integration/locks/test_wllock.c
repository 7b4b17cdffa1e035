/*
 * wllock's defects (docs/ARTICLES.md, W1 …) through the strategy, each beside its absence in
 * redis-queue. W1 stands in test_lock_failures.c, W2 and W16 in
 * test_lock_pauses.c, W3, W9 and W15 in test_locks.c.
 */
#include "lib/fixtures/contenders.h"
#include "lib/redis/redis_probe.h"
#include "lib/stack.h"
#include "lib/t.h"

#include "base/clock.h"

#include <stdio.h>

static struct buy order(const char *strategy, const char *more, int64_t user)
{
    return (struct buy){
        .strategy = strategy, .more = more, .product = contenders.product, .user = user};
}

static struct crowd *begin(struct server *server, struct buy buy, int count)
{
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < count; i++, buy.user++)
        shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    return crowd;
}

/* How long an order waits beside a holder, and what that costs Redis in scripts. */
static int64_t waiting_us(const char *strategy, int64_t *scripts)
{
    struct server *a = contender_start("lock.acquired=stop", "30000", "25000");
    struct server *b = contender_start(NULL, "30000", "25000");

    contenders_put(b, 100);
    struct crowd *held = begin(a, order(strategy, "&wait_ms=40000", 1), 1);
    server_wait_stopped(a);
    redis_probe(NULL, 0, "CONFIG RESETSTAT");
    struct crowd *waiter = begin(b, order(strategy, "&wait_ms=8000", 2), 1);
    crowd_finish(waiter, CONTENDERS_PATIENCE_US);
    assert_int_equal(crowd_count(waiter, 503, "wait_timeout"), 1);
    int64_t took_us = crowd_at(waiter, 0)->took_us;
    *scripts = redis_probe_calls("evalsha");
    server_resume(a);
    crowd_finish(held, CONTENDERS_PATIENCE_US);
    assert_int_equal(crowd_count(held, 201, NULL), 1);
    crowd_destroy(held);
    crowd_destroy(waiter);
    server_stop(a);
    server_stop(b);
    return took_us;
}

/* A slow machine may be late with the answer, or with the scripts, and a Redis that stood still
 * ends the wait early (W13): so more than one order may have to wait. */
TEST(w4_w5_it_spins_and_for_half_of_its_time)
{
    enum { LEAST_US = 3990000, MOST_US = 7500000, SCRIPTS = 200 };
    int64_t until_us = clock_mono_us() + CONTENDERS_PATIENCE_US;
    int64_t scripts;
    int64_t took_us;

    do {
        assert_true(clock_mono_us() < until_us);
        took_us = waiting_us("wllock", &scripts);
    } while (took_us < LEAST_US || took_us > MOST_US || scripts <= SCRIPTS);
    took_us = waiting_us("redis-queue", &scripts);
    assert_in_range(took_us, 8000 * CLOCK_US_PER_MS, 18000 * CLOCK_US_PER_MS);
    assert_true(scripts < 100); /* the two servers' probes are among them, two a second each */
}

/* Orders that queue while the first is slow: how many holds do they take? */
static int64_t holds(const char *strategy, int orders)
{
    struct server *a = contender_start("lock.acquired=hold", "30000", "25000");

    contenders_put(a, 100);
    struct crowd *crowd = begin(a, order(strategy, "&wait_ms=40000", 1), orders);
    server_wait_metric(a, "seckill_orders_in_flight", "", orders);
    server_let_go(a);
    crowd_finish(crowd, CONTENDERS_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 201, NULL), orders);
    crowd_destroy(crowd);
    char label[64];
    snprintf(label, sizeof label, "strategy=\"%s\"", strategy);
    int64_t batches = server_metric(a, "seckill_batches_total", label);
    server_stop(a);
    return batches;
}

TEST(w8_one_order_a_hold)
{
    assert_int_equal(holds("wllock", 20), 20);
    assert_in_range(holds("redis-queue", 20), 1, 5);
}

/* The reply to an acquisition is lost. */
static void lose_reply(const char *strategy, const char *lock, const char *code, bool orphan)
{
    struct server *a = contender_start("redis.reply=fail", "30000", "25000");
    struct buy next = order(strategy, orphan ? "&wait_ms=1000" : "&wait_ms=20000", 2);

    contenders_put(a, 100);
    next.product = contenders.product;
    struct buy first = order(strategy, "&wait_ms=20000", 1);
    shop_expect_buy(a, &first, 503, code, NULL);
    assert_int_equal(contenders_lock("EXISTS", lock), orphan);
    if (orphan)
        shop_expect_buy(a, &next, 503, "wait_timeout", NULL);
    else
        shop_expect_buy(a, &next, 201, "", NULL);
    server_stop(a);
}

/* W13: an error of Redis is told as a wait that ended. W14: and the lock is nobody's. */
TEST(w13_w14_a_lost_reply_leaves_an_orphan)
{
    lose_reply("wllock", "wllock", "wait_timeout", true);
    lose_reply("redis-queue", "redis-fair", "backend_unavailable", false);
    lose_reply("redis-expiry", "redis-expiry", "backend_unavailable", true);
    lose_reply("redis-token", "redis-token", "backend_unavailable", false);
    lose_reply("redis-reentrant", "redis-reentrant", "backend_unavailable", false);
    lose_reply("redis-watchdog", "redis-watchdog", "backend_unavailable", false);
}

TEST_EACH(NULL, server_teardown)

int main(void)
{
    contenders_open("wllock");
    int failed = t_run_all(NULL, stack_restore);
    contenders_close();
    return failed != 0;
}
