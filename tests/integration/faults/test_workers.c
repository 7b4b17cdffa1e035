/*
 * Sessions are few and strategies many: workers go where orders are.
 *
 * Of the six sessions that the server may open two can be workers: one is redis-stock's writer's,
 * and without a broker there are no consumers that would want theirs.
 */
#include "lib/fixtures/cases.h"
#include "lib/stack.h"
#include "lib/witness.h"

#include "base/clock.h"

#include <stdio.h>

enum { ORDERS = 64, BUSY_ORDERS = 160, HELD_ORDERS = 40, PATIENCE_US = 60000000 };

static struct server *server;
static int64_t started_us; /* not before */

/* PostgreSQL's time in microseconds. */
static int64_t pg_now_us(struct witness *witness)
{
    return witness_number(witness,
                          "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
}

static void note_start(void)
{
    struct witness *witness = witness_open(stack_database());

    started_us = pg_now_us(witness);
    witness_close(witness);
}

static int start(void **state)
{
    (void)state;
    note_start();
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
TEST(idle_workers_make_room)
{
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

/* PostgreSQL numbers transactions as they begin to write. */
static void expect_sold_before_the_last_of(struct witness *witness, int64_t late, int64_t busy)
{
    int64_t after = witness_number(
        witness,
        "SELECT count(*) FROM orders WHERE product_id = %lld AND xmin::text::bigint >"
        " (SELECT xmin::text::bigint FROM orders WHERE product_id = %lld)",
        (long long)busy, (long long)late);

    assert_true(after > 0);
}

/* One strategy's workers are busy without a pause; another's orders are not left standing. */
TEST(busy_workers_make_room_for_who_has_nobody)
{
    struct witness *witness = witness_open(stack_database());
    struct crowd *busy = crowd_create();
    struct buy late = buy_by("pessimistic", 1);

    late.product = 2;
    shop_put(server, 2, 1, NULL);
    for (int i = 0; i < BUSY_ORDERS; i++) {
        struct buy buy = buy_by("conditional", 10 + i);
        shop_crowd_buy(busy, server, &buy);
    }
    crowd_send(busy);
    T_UNTIL(workers_of("conditional") >= 2);
    shop_expect_buy(server, &late, 201, "", NULL);
    crowd_finish(busy, PATIENCE_US);
    crowd_destroy(busy);
    expect_sold_before_the_last_of(witness, 2, 1);
    witness_close(witness);
    server_stop(server);
}

/* This server's sessions that began before `mark`; those of the test before may still be ending. */
static int64_t sessions_from_before(struct witness *witness, int64_t mark)
{
    return witness_number(witness,
                          "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'seckill'"
                          " AND datname = current_database()"
                          " AND extract(epoch FROM backend_start) * 1000000 BETWEEN %lld AND %lld",
                          (long long)started_us, (long long)mark);
}

/* Every order finds its lane without a worker; none of the sessions that there are is closed. */
static void sell_on_the_sessions_there_are(const char *const *strategies, size_t count)
{
    struct witness *witness = witness_open(stack_database());
    int64_t mark = pg_now_us(witness);
    int64_t sessions = sessions_from_before(witness, mark);

    for (size_t i = 0; i < 2 * count; i++) {
        struct buy buy = buy_by(strategies[i % count], 1000 + (int64_t)i);
        buy.product = 1 + (int64_t)i % 2;
        shop_expect_buy(server, &buy, 201, "", NULL);
    }
    assert_true(sessions > 0);
    assert_int_equal(sessions_from_before(witness, mark), sessions);
    witness_close(witness);
}

/* One of two idle ones is wanted, and the other stays as he is. */
TEST(idle_workers_keep_their_sessions)
{
    static const char *const strategies[] = {"optimistic", "serializable", "batch"};

    shop_put(server, 2, 1000, NULL);
    give_each_a_worker();
    sell_on_the_sessions_there_are(strategies, 3);
    server_stop(server);
}

static int start_alone(void **state)
{
    (void)state;
    note_start();
    server = server_start("--pg-sessions", "5", "--amqp", "");
    shop_put(server, 1, 1000, NULL);
    return 0;
}

/* What the only worker had for one strategy, a fence say, is none of the next one's. */
TEST_WITH(whoever_changes_lanes_brings_nothing_but_the_session, start_alone, server_teardown)
{
    static const char *const strategies[] = {"redis-fenced", "none",  "redis-queue", "optimistic",
                                             "lock-row",     "batch", "redis-token", "pessimistic"};
    struct buy first = buy_by("conditional", 1);

    shop_put(server, 2, 1000, NULL);
    shop_expect_buy(server, &first, 201, "", NULL);
    sell_on_the_sessions_there_are(strategies, 8);
    server_stop(server);
}

/* Two strategies have orders for both workers, sold one by one, before a third one's comes; it does
 * not wait until one of them is done. The rows are held until all orders are there. */
TEST(workers_go_round_where_strategies_are_more)
{
    static const char *const busy[] = {"serializable", "buckets"};
    struct crowd *crowd = crowd_create();
    struct buy late = buy_by("pessimistic", 1);

    late.product = 2;
    shop_put(server, 2, 1, NULL);
    shop_put(server, 3, 1000, NULL);
    struct witness *witness = witness_open(stack_database());
    struct witness *holders[] = {witness_hold(stack_database(), 1),
                                 witness_hold(stack_database(), 3)};
    for (int i = 0; i < HELD_ORDERS; i++) {
        struct buy buy = buy_by(busy[i % 2], 10 + i);
        buy.product = i % 2 == 0 ? 1 : 3;
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    T_UNTIL(server_accepted(server) >= HELD_ORDERS);
    witness_wait_blocked(witness, 2);
    struct crowd *alone = crowd_create();
    shop_crowd_buy(alone, server, &late);
    crowd_send(alone);
    T_UNTIL(server_accepted(server) >= HELD_ORDERS + 1);
    witness_release(holders[0]);
    witness_release(holders[1]);

    crowd_finish(alone, PATIENCE_US);
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_count(alone, 201, ""), 1);
    assert_int_equal(crowd_count(crowd, 201, ""), HELD_ORDERS);
    expect_sold_before_the_last_of(witness, 2, 1);
    expect_sold_before_the_last_of(witness, 2, 3);
    crowd_destroy(alone);
    crowd_destroy(crowd);
    witness_close(witness);
    server_stop(server);
}

TEST_EACH(start, server_teardown)
