/*
 * redis-stock with three instances: batches, every state of an order as every instance tells it,
 * cancels of queued orders, keys and limits before PostgreSQL has decided.
 */
#include "lib/fixtures/stock_cluster.h"

#include "lib/stack.h"

#include "order/order.h"

#include <stdio.h>
#include <string.h>

static int64_t reserved_at(struct server *server)
{
    char target[64];

    snprintf(target, sizeof target, "/products/%lld", (long long)cluster.product);
    struct http_reply reply = server_call(server, "GET", target, NULL, NULL);
    int64_t reserved = http_reply_int(&reply, "reserved");
    http_reply_fini(&reply);
    return reserved;
}

static int64_t queued_at(struct server *server)
{
    char target[64];

    snprintf(target, sizeof target, "/products/%lld/audit", (long long)cluster.product);
    struct http_reply reply = server_call(server, "GET", target, NULL, NULL);
    int64_t queued = http_reply_int(&reply, "queued");
    http_reply_fini(&reply);
    return queued;
}

static void send_buyers(struct crowd *crowd, struct server *server, int64_t first, int count)
{
    for (int i = 0; i < count; i++) {
        struct buy buy = cluster_buy(first + i, 1);
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
}

/* What queues while the call that a product may have is under way is the next call: one stream
 * entry for all of it. */
TEST(what_waits_is_one_call)
{
    enum { BUYERS = 40, STOCK = 25 };

    cluster.product++;
    struct server *server = cluster_start("stock-reserved=hold", NULL);
    shop_put(server, cluster.product, STOCK, NULL);
    struct witness *holder = cluster_hold();
    struct crowd *crowd = crowd_create();
    send_buyers(crowd, server, 1, 1);
    T_UNTIL(cluster_redis("XLEN @orders") == 1);
    send_buyers(crowd, server, 2, BUYERS - 1);
    server_wait_metric(server, "seckill_lane_waiting", "redis-stock", BUYERS - 1);
    server_let_go(server);
    assert_true(crowd_wait(crowd, BUYERS, clock_mono_us() + CLUSTER_PATIENCE_US));
    assert_int_equal(crowd_count(crowd, 202, ""), STOCK);
    assert_int_equal(crowd_count(crowd, 409, "sold_out"), BUYERS - STOCK);
    assert_int_equal(cluster_redis("XLEN @orders"), 2);
    assert_int_equal(cluster_waiting(), STOCK);
    witness_release(holder);
    crowd_finish(crowd, CLUSTER_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 201, ""), STOCK);
    crowd_destroy(crowd);
    cluster_expect_reconciled();
    cluster_stop_all();
}

TEST(every_instance_knows_every_state)
{
    char id[SHOP_ID_SIZE];
    char target[96];

    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, 5, NULL);
    struct witness *holder = cluster_hold();
    struct buy buy = cluster_buy(1, 2);
    cluster_accept(cluster.servers[1], &buy, id);
    for (int i = 0; i < CLUSTER_INSTANCES; i++) {
        cluster_expect_status(cluster.servers[i], id, "queued");
        assert_int_equal(reserved_at(cluster.servers[i]), 2);
        assert_int_equal(queued_at(cluster.servers[i]), 2);
    }
    /* A list shows what PostgreSQL has. */
    snprintf(target, sizeof target, "/orders?product_id=%lld", (long long)cluster.product);
    struct http_reply list = server_call(cluster.servers[2], "GET", target, NULL, NULL);
    assert_int_equal(http_reply_count(&list, "orders"), 0);
    http_reply_fini(&list);

    witness_release(holder);
    for (int i = 0; i < CLUSTER_INSTANCES; i++)
        cluster_wait_status(cluster.servers[i], id, "confirmed");
    cluster_expect_settled();
    assert_int_equal(reserved_at(cluster.servers[0]), 0);
    assert_int_equal(queued_at(cluster.servers[1]), 0);

    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    shop_expect(cluster.servers[2], "POST", target, NULL, NULL, 200, "");
    for (int i = 0; i < CLUSTER_INSTANCES; i++)
        cluster_expect_status(cluster.servers[i], id, "cancelled");
    cluster_expect_settled();
    cluster_stop_all();
}

TEST(a_queued_order_is_cancelled_once_decided)
{
    char id[SHOP_ID_SIZE];

    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, 3, ", \"limit_per_user\": 2");
    struct witness *holder = cluster_hold();
    struct buy buy = cluster_buy(1, 2);
    cluster_accept(cluster.servers[0], &buy, id);
    struct crowd *crowd = crowd_create();
    for (int i = 0; i < 6; i++)
        shop_crowd_cancel(crowd, cluster.servers[i % CLUSTER_INSTANCES], id);
    crowd_send(crowd);
    assert_false(crowd_wait(crowd, 1, clock_mono_us() + 300000));
    cluster_expect_status(cluster.servers[1], id, "queued");
    witness_release(holder);
    crowd_finish(crowd, CLUSTER_PATIENCE_US);
    if (crowd_count(crowd, 200, "") != 6)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    cluster_expect_settled();
    /* Whoever found it done has unloaded the mirror; else it says what the row says. */
    assert_int_equal(witness_sale(cluster.witness, cluster.product).cancelled, 1);
    assert_int_equal(witness_sale(cluster.witness, cluster.product).stock, 3);
    /* The units and the user's share are there again, in Redis as well. */
    cluster_accept(cluster.servers[2], &buy, id);
    cluster_wait_status(cluster.servers[2], id, "confirmed");
    cluster_expect_settled();
    cluster_stop_all();
}

TEST(a_cancel_waits_no_longer_than_it_may)
{
    char id[SHOP_ID_SIZE];
    char target[96];

    cluster.product++;
    struct server *server = cluster_start_waiting("200");
    shop_put(server, cluster.product, 3, NULL);
    struct witness *holder = cluster_hold();
    struct buy buy = cluster_buy(1, 1);
    buy.more = "&wait_ms=20000";
    cluster_accept(server, &buy, id);
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    int64_t begun_us = clock_mono_us();
    shop_expect(server, "POST", target, NULL, NULL, 503, "wait_timeout");
    int64_t took_us = clock_mono_us() - begun_us;
    assert_true(took_us >= 200000 && took_us < 10 * CLOCK_US_PER_S);
    witness_release(holder);
    cluster_wait_status(server, id, "confirmed");
    cluster_stop_all();
}

static void expect_replay(struct server *server, const struct buy *buy, const char *id,
                          const char *expected)
{
    char text[64];
    struct http_reply reply = shop_send(server, buy);

    assert_int_equal(reply.status, 200);
    assert_true(http_reply_header(&reply, "Idempotent-Replayed", text, sizeof text));
    http_reply_text(&reply, "id", text, sizeof text);
    assert_string_equal(text, id);
    http_reply_text(&reply, "status", text, sizeof text);
    assert_string_equal(text, expected);
    http_reply_fini(&reply);
}

TEST(a_key_is_known_while_its_order_waits)
{
    char id[SHOP_ID_SIZE];

    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, 2, NULL);
    struct witness *holder = cluster_hold();
    struct buy buy = cluster_buy(1, 2);
    buy.key = "k";
    cluster_accept(cluster.servers[0], &buy, id);
    /* Sold out, and the flag is up; a repeat is a repeat all the same. */
    struct buy other = cluster_buy(2, 1);
    shop_expect_buy(cluster.servers[0], &other, 409, "sold_out", NULL);
    for (int i = 0; i < CLUSTER_INSTANCES; i++)
        expect_replay(cluster.servers[i], &buy, id, "queued");
    buy.quantity = 1;
    shop_expect_buy(cluster.servers[1], &buy, 409, "idempotency_mismatch", NULL);
    buy.quantity = 2;
    witness_release(holder);
    cluster_wait_status(cluster.servers[0], id, "confirmed");
    for (int i = 0; i < CLUSTER_INSTANCES; i++)
        expect_replay(cluster.servers[i], &buy, id, "confirmed");
    cluster_expect_settled();
    /* Also when Redis has forgotten the key. */
    cluster_redis("DEL @key:%lld:k", (long long)buy.user);
    expect_replay(cluster.servers[1], &buy, id, "confirmed");
    assert_int_equal(witness_sale(cluster.witness, cluster.product).orders, 1);
    cluster_stop_all();
}

/* Nobody holds the row, so that the writer could sell it with its one statement. */
TEST(a_key_is_written_though_nothing_waits)
{
    char id[SHOP_ID_SIZE];

    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, 2, NULL);
    struct buy buy = cluster_buy(1, 1);
    buy.key = "k";
    cluster_accept(cluster.servers[0], &buy, id);
    cluster_wait_status(cluster.servers[0], id, "confirmed");
    cluster_expect_settled();
    cluster_redis("DEL @key:%lld:k", (long long)buy.user);
    expect_replay(cluster.servers[1], &buy, id, "confirmed");
    assert_int_equal(witness_sale(cluster.witness, cluster.product).orders, 1);
    cluster_stop_all();
}

/* A key may have as many characters as one may; its order is found by it while it waits, and what
 * is let go of is told to Redis with it. */
TEST(the_longest_key_is_known_and_let_go_of)
{
    char key[ORDER_KEY_MAX + 1];
    char id[SHOP_ID_SIZE];

    memset(key, 'k', ORDER_KEY_MAX);
    key[ORDER_KEY_MAX] = '\0';
    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, 2, NULL);
    struct buy buy = cluster_buy(1, 1);
    buy.key = key;
    struct witness *holder = cluster_hold();
    cluster_accept(cluster.servers[0], &buy, id);
    expect_replay(cluster.servers[1], &buy, id, "queued");
    witness_release(holder);
    cluster_wait_status(cluster.servers[0], id, "confirmed");
    cluster_expect_settled();
    expect_replay(cluster.servers[1], &buy, id, "confirmed");
    cluster_stop_all();
}

/* The sale's key went to PostgreSQL first: the 202 that loses ends failed and names the winner. */
TEST(a_202_that_loses_its_key)
{
    char id[SHOP_ID_SIZE];
    char winner[SHOP_ID_SIZE];
    char target[96];
    char text[64];

    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, 4, NULL);
    shop_put(cluster.servers[0], 70000, 4, NULL);
    struct witness *holder = cluster_hold();
    struct buy buy = cluster_buy(1, 1);
    buy.key = "both";
    cluster_accept(cluster.servers[0], &buy, id);
    struct buy first = {
        .strategy = "conditional", .product = 70000, .user = buy.user, .key = "both"};
    shop_expect_buy(cluster.servers[1], &first, 201, "", winner);
    witness_release(holder);
    cluster_wait_status(cluster.servers[2], id, "failed");
    snprintf(target, sizeof target, "/orders/%s", id);
    struct http_reply reply = server_call(cluster.servers[1], "GET", target, NULL, NULL);
    http_reply_text(&reply, "reason", text, sizeof text);
    assert_string_equal(text, "duplicate");
    http_reply_text(&reply, "first_order_id", text, sizeof text);
    assert_string_equal(text, winner);
    http_reply_fini(&reply);
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    shop_expect(cluster.servers[0], "POST", target, NULL, NULL, 409, "not_cancellable");
    /* Unloaded, since PostgreSQL has refused what it gave. */
    T_UNTIL(cluster_redis("EXISTS @mirror:%lld", (long long)cluster.product) == 0);
    cluster_expect_settled();
    cluster_stop_all();
}

/* Before anything is written, and over what is written: a user's share is one. */
TEST(a_limit_counts_what_waits)
{
    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, 50, ", \"limit_per_user\": 3");
    struct buy buy = cluster_buy(1, 2);
    shop_expect_buy(cluster.servers[0], &buy, 201, "", NULL);
    struct witness *holder = cluster_hold();
    shop_expect_buy(cluster.servers[1], &buy, 409, "limit_reached", NULL);
    buy.quantity = 1;
    cluster_accept(cluster.servers[2], &buy, NULL);
    for (int i = 0; i < CLUSTER_INSTANCES; i++)
        shop_expect_buy(cluster.servers[i], &buy, 409, "limit_reached", NULL);
    witness_release(holder);
    cluster_expect_settled();
    assert_int_equal(witness_sale(cluster.witness, cluster.product).sold, 3);
    /* A mirror that is loaded anew knows what users hold. */
    cluster_redis("DEL @mirror:%lld", (long long)cluster.product);
    shop_expect_buy(cluster.servers[1], &buy, 409, "limit_reached", NULL);
    buy = cluster_buy(2, 3);
    shop_expect_buy(cluster.servers[1], &buy, 201, "", NULL);
    cluster_expect_reconciled();
    cluster_stop_all();
}

TEST_EACH(NULL, cluster_teardown)

int main(void)
{
    cluster_begin("redis_stock");
    int failed = t_run_all(NULL, NULL);
    cluster_end("redis_stock");
    return failed != 0;
}
