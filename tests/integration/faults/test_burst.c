/* More than there is room for: every order is answered, and afterwards the server is as it was. */
#include "lib/fixtures/cases.h"
#include "lib/stack.h"

#include "base/clock.h"
#include "strategies/strategies.h"

#include <stdio.h>
#include <stdlib.h>

/* The first burst brings the server to its working size; the second must leave it there. A
 * sanitizer has memory of its own, and sees in one what it would see in two. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 1 };
#else
enum { ROUNDS = 2 };
#endif
enum {
    CAPACITY = 20,
    BURST = 400,
    REFUSALS = 200,
    CONNECTIONS = 1000,
    PATIENCE_US = 120000000,
    SLACK_FDS = 8,
    SLACK_KIB = 24576
};

static char *conninfo; /* owned */

/* A lock in a row asks PostgreSQL for a second at most, in which a busy machine's disk may not
 * answer; that its buyer is told so is an answer, too. */
static void expect_all_answered(struct crowd *crowd, const char *strategy)
{
    int answered = crowd_count(crowd, 201, "") + crowd_count(crowd, 409, "sold_out") +
                   crowd_count(crowd, 503, "queue_full") + crowd_count(crowd, 503, "wait_timeout") +
                   crowd_count(crowd, 503, "backend_unavailable");

    if (answered != crowd_size(crowd))
        fail_msg("%s: %s", strategy, crowd_summary(crowd));
}

/* The descriptors of the burst are closed; sessions of idle workers may stay for a while. */
static void expect_settled(struct server *server, int descriptors, int64_t kib)
{
    int64_t since_us = clock_mono_us();

    while (server_descriptors(server) > descriptors + SLACK_FDS)
        t_wait(since_us, "%d descriptors are open, %d before", server_descriptors(server),
               descriptors);
    if (server_resident_kib(server) > kib + SLACK_KIB)
        fail_msg("%lld KiB resident, %lld before", (long long)server_resident_kib(server),
                 (long long)kib);
    assert_int_equal(server_metric(server, "seckill_orders_in_flight", ""), 0);
}

/* The server finds all of them there at once, however slowly they are sent. */
static struct crowd *burst(struct server *server, const char *strategy, int64_t product, int count)
{
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < count; i++) {
        struct buy buy = {.strategy = strategy, .product = product, .user = 1 + i};
        shop_crowd_buy(crowd, server, &buy);
    }
    server_pause(server);
    crowd_send(crowd);
    server_resume(server);
    crowd_finish(crowd, PATIENCE_US);
    return crowd;
}

static void bursts(struct server *server, int count, bool overflows)
{
    struct witness *witness = witness_open(conninfo);
    int descriptors = 0;
    int64_t kib = 0;

    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < strategy_count(); i++) {
            const struct strategy *strategy = strategy_at(i);
            /* A strategy that refuses without a queue must have units left, or the queue stays
             * short. */
            shop_put(server, (int64_t)i + 1, strategy->refuse_now ? count : 50, NULL);
            struct crowd *crowd = burst(server, strategy->name, (int64_t)i + 1, count);
            expect_all_answered(crowd, strategy->name);
            if (overflows && crowd_count(crowd, 503, "queue_full") == 0)
                fail_msg("%s: nothing was turned away: %s", strategy->name, crowd_summary(crowd));
            assert_int_equal(witness_sale(witness, (int64_t)i + 1).orders,
                             crowd_count(crowd, 201, ""));
            if (strategy->guarantees & GUARANTEE_ONE)
                witness_expect_exact(witness, (int64_t)i + 1);
            crowd_destroy(crowd);
        }
        if (round == 0) {
            descriptors = server_descriptors(server);
            kib = server_resident_kib(server);
        }
    }
    expect_settled(server, descriptors, kib);
    witness_close(witness);
}

TEST(ten_times_the_queues_capacity)
{
    char capacity[16];

    snprintf(capacity, sizeof capacity, "%d", CAPACITY);
    /* To sell them all would take 8 s, 0.8 in batches: the loop must have read them before. Under a
     * sanitizer, on a busy machine, it needs 2 s and more when none of it was in memory yet. */
    struct server *server =
        server_start("--queue-capacity", capacity, "--work-ms", "20", "--max-batch", "10",
                     "--in-flight-per-product", "1", "--lock-wait-ms", "60000");
    bursts(server, BURST, true);
    server_stop(server);
}

static int64_t held_us(struct server *server)
{
    return server_metric_us(server, "seckill_http_pacing_seconds_total", "");
}

/* Turning an order away takes a microsecond at least, and its reply is held back eight times as
 * long; a reply that says "sold out" is not. */
TEST(refused_orders_are_held_back)
{
    struct server *server = server_start("--queue-capacity", "20", "--work-ms", "20");

    shop_put(server, 1, 0, NULL);
    shop_put(server, 2, 1000, NULL);
    struct crowd *refused = crowd_create();
    for (int i = 0; i < REFUSALS; i++) {
        struct buy buy = {.strategy = "redis-stock", .product = 1, .user = 1 + i};
        shop_crowd_buy(refused, server, &buy);
        if (i % 20 == 19)
            crowd_answers(refused, PATIENCE_US);
    }
    assert_int_equal(crowd_count(refused, 409, "sold_out"), REFUSALS);
    crowd_destroy(refused);
    assert_int_equal(held_us(server), 0);
    struct crowd *crowd = burst(server, "conditional", 2, REFUSALS);
    int turned_away = crowd_count(crowd, 503, "queue_full");
    assert_true(turned_away > 0);
    assert_true(held_us(server) >= turned_away);
    crowd_destroy(crowd);
    server_stop(server);
}

TEST(a_thousand_connections)
{
    struct server *server = server_start(NULL);

    bursts(server, CONNECTIONS, false);
    server_stop(server);
}

TEST_EACH(NULL, server_teardown)

int main(void)
{
    t_raise_files();
    conninfo = stack_database_create("seckill_burst");
    server_use_database(conninfo);
    int failed = t_run_all(NULL, NULL);
    stack_database_drop("seckill_burst");
    free(conninfo);
    return failed != 0;
}
