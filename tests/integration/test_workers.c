/*
 * Sessions are few and strategies many: who has nothing to do makes room for who has.
 *
 * The server may open six sessions, of which two can be workers: one is redis-stock's writer's, and
 * without a broker there are no consumers that would want theirs.
 */
#include "lib/cases.h"

#include "base/clock.h"
#include "strategy/purchase.h"

#include <stdio.h>

/* A second worker comes when half of what a run took wait. */
enum { ORDERS = 2 * RUN_MAX, BUSY_ORDERS = 5 * RUN_MAX, PATIENCE_US = 60000000 };

static struct server *server;

static int start(void **state)
{
    (void)state;
    server = server_start("--pg-sessions", "6", "--work-ms", "60", "--amqp", "",
                          "--in-flight-per-product", "2");
    shop_put(server, 1, 1000, NULL);
    return 0;
}

static struct buy buy_by(const char *strategy, int64_t user)
{
    return (struct buy){.strategy = strategy, .product = 1, .user = user, .more = "&wait_ms=60000"};
}

static int64_t workers_of(const char *strategy)
{
    char labels[64];

    snprintf(labels, sizeof labels, "strategy=\"%s\"", strategy);
    return server_metric(server, "seckill_lane_workers", labels);
}

/* On a slow machine one order may have brought both workers, and then both make room for the other
 * strategy's: buys until each has its own. */
static void give_each_a_worker(void)
{
    static const char *const strategies[] = {"pessimistic", "conditional"};
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    int64_t user = 0;

    while (workers_of(strategies[0]) != 1 || workers_of(strategies[1]) != 1)
        for (int i = 0; i < 2; i++) {
            struct buy buy = buy_by(strategies[i], ++user);
            assert_true(clock_mono_us() < until_us);
            if (workers_of(strategies[i]) == 0)
                shop_expect_buy(server, &buy, 201, "", NULL);
        }
}

/* Two strategies have a worker each, idle now; one of them wants both. */
static void idle_workers_make_room(void **state)
{
    (void)state;
    struct crowd *crowd = crowd_create();
    int64_t most = 0;

    give_each_a_worker();
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = buy_by("conditional", 1000 + i);
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    while (most < 2 && clock_mono_us() < until_us) {
        int64_t now = workers_of("conditional");
        most = now > most ? now : most;
        if (server_metric(server, "seckill_orders_in_flight", "") == 0)
            break;
    }
    if (most < 2) /* the second may have come between the last two looks */
        most = workers_of("conditional");
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 201, ""), ORDERS);
    crowd_destroy(crowd);
    assert_int_equal(most, 2);
    server_stop(server);
}

/* One strategy's workers are busy without a pause; another's orders are not left standing. */
static void busy_workers_make_room_for_who_has_nobody(void **state)
{
    (void)state;
    struct crowd *busy = crowd_create();
    struct buy late = buy_by("pessimistic", 1);

    late.product = 2;
    shop_put(server, 2, 1, NULL);
    for (int i = 0; i < BUSY_ORDERS; i++) {
        struct buy buy = buy_by("conditional", 10 + i);
        shop_crowd_buy(busy, server, &buy);
    }
    crowd_send(busy);
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    while (workers_of("conditional") < 2)
        assert_true(clock_mono_us() < until_us);
    shop_expect_buy(server, &late, 201, "", NULL);
    assert_true(server_metric(server, "seckill_orders_in_flight", "") > 0);
    crowd_finish(busy, PATIENCE_US);
    crowd_destroy(busy);
    server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(idle_workers_make_room, start, server_teardown),
        cmocka_unit_test_setup_teardown(busy_workers_make_room_for_who_has_nobody, start,
                                        server_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
