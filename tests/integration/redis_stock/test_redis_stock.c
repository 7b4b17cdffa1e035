/*
 * redis-stock with three instances: batches, every state of an order as every instance tells it,
 * cancels of queued orders, keys and limits before PostgreSQL has decided.
 */
#include "lib/fixtures/stock_bed.h"

#include "lib/stack.h"

#include "order/order.h"

#include <stdio.h>
#include <string.h>

static int64_t reserved_at(struct server *server)
{
    char target[64];

    snprintf(target, sizeof target, "/products/%lld", (long long)bed.product);
    struct http_reply reply = server_call(server, "GET", target, NULL, NULL);
    int64_t reserved = http_reply_int(&reply, "reserved");
    http_reply_fini(&reply);
    return reserved;
}

static int64_t queued_at(struct server *server)
{
    char target[64];

    snprintf(target, sizeof target, "/products/%lld/audit", (long long)bed.product);
    struct http_reply reply = server_call(server, "GET", target, NULL, NULL);
    int64_t queued = http_reply_int(&reply, "queued");
    http_reply_fini(&reply);
    return queued;
}

static void send_buyers(struct crowd *crowd, struct server *server, int64_t first, int count)
{
    for (int i = 0; i < count; i++) {
        struct buy buy = bed_buy(first + i, 1);
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
}

/* What queues while the call that a product may have is under way is the next call: one stream
 * entry for all of it. */
static void what_waits_is_one_call(void **state)
{
    enum { BUYERS = 40, STOCK = 25 };

    (void)state;
    bed.product++;
    struct server *server = bed_start("stock-reserved=hold", NULL);
    shop_put(server, bed.product, STOCK, NULL);
    struct witness *holder = bed_hold();
    struct crowd *crowd = crowd_create();
    send_buyers(crowd, server, 1, 1);
    BED_WAIT(bed_redis("XLEN @orders") == 1);
    send_buyers(crowd, server, 2, BUYERS - 1);
    server_wait_metric(server, "seckill_lane_waiting", "redis-stock", BUYERS - 1);
    server_let_go(server);
    assert_true(crowd_wait(crowd, BUYERS, clock_mono_us() + BED_PATIENCE_US));
    assert_int_equal(crowd_count(crowd, 202, ""), STOCK);
    assert_int_equal(crowd_count(crowd, 409, "sold_out"), BUYERS - STOCK);
    assert_int_equal(bed_redis("XLEN @orders"), 2);
    assert_int_equal(bed_waiting(), STOCK);
    witness_release(holder);
    crowd_finish(crowd, BED_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 201, ""), STOCK);
    crowd_destroy(crowd);
    bed_expect_reconciled();
    bed_stop_all();
}

static void every_instance_knows_every_state(void **state)
{
    char id[SHOP_ID_SIZE];
    char target[96];

    (void)state;
    bed_start_three();
    shop_put(bed.servers[0], bed.product, 5, NULL);
    struct witness *holder = bed_hold();
    struct buy buy = bed_buy(1, 2);
    bed_accept(bed.servers[1], &buy, id);
    for (int i = 0; i < BED_INSTANCES; i++) {
        bed_expect_status(bed.servers[i], id, "queued");
        assert_int_equal(reserved_at(bed.servers[i]), 2);
        assert_int_equal(queued_at(bed.servers[i]), 2);
    }
    /* A list shows what PostgreSQL has. */
    snprintf(target, sizeof target, "/orders?product_id=%lld", (long long)bed.product);
    struct http_reply list = server_call(bed.servers[2], "GET", target, NULL, NULL);
    assert_int_equal(http_reply_count(&list, "orders"), 0);
    http_reply_fini(&list);

    witness_release(holder);
    for (int i = 0; i < BED_INSTANCES; i++)
        bed_wait_status(bed.servers[i], id, "confirmed");
    bed_expect_settled();
    assert_int_equal(reserved_at(bed.servers[0]), 0);
    assert_int_equal(queued_at(bed.servers[1]), 0);

    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    shop_expect(bed.servers[2], "POST", target, NULL, NULL, 200, "");
    for (int i = 0; i < BED_INSTANCES; i++)
        bed_expect_status(bed.servers[i], id, "cancelled");
    bed_expect_reconciled();
    assert_int_equal(bed_mirror(), 5);
    bed_stop_all();
}

static void a_queued_order_is_cancelled_once_decided(void **state)
{
    char id[SHOP_ID_SIZE];

    (void)state;
    bed_start_three();
    shop_put(bed.servers[0], bed.product, 3, ", \"limit_per_user\": 2");
    struct witness *holder = bed_hold();
    struct buy buy = bed_buy(1, 2);
    bed_accept(bed.servers[0], &buy, id);
    struct crowd *crowd = crowd_create();
    for (int i = 0; i < 6; i++)
        shop_crowd_cancel(crowd, bed.servers[i % BED_INSTANCES], id);
    crowd_send(crowd);
    assert_false(crowd_wait(crowd, 1, clock_mono_us() + 300000));
    bed_expect_status(bed.servers[1], id, "queued");
    witness_release(holder);
    crowd_finish(crowd, BED_PATIENCE_US);
    if (crowd_count(crowd, 200, "") != 6)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    bed_expect_settled();
    /* Whoever found it done has unloaded the mirror; else it says what the row says. */
    assert_int_equal(witness_sale(bed.witness, bed.product).cancelled, 1);
    assert_int_equal(witness_sale(bed.witness, bed.product).stock, 3);
    /* The units and the user's share are there again, in Redis as well. */
    bed_accept(bed.servers[2], &buy, id);
    bed_wait_status(bed.servers[2], id, "confirmed");
    bed_expect_reconciled();
    bed_stop_all();
}

static void a_cancel_waits_no_longer_than_it_may(void **state)
{
    char id[SHOP_ID_SIZE];
    char target[96];

    (void)state;
    bed.product++;
    struct server *server = bed_start_waiting("200");
    shop_put(server, bed.product, 3, NULL);
    struct witness *holder = bed_hold();
    struct buy buy = bed_buy(1, 1);
    buy.more = "&wait_ms=20000";
    bed_accept(server, &buy, id);
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    int64_t begun_us = clock_mono_us();
    shop_expect(server, "POST", target, NULL, NULL, 503, "wait_timeout");
    int64_t took_us = clock_mono_us() - begun_us;
    assert_true(took_us >= 200000 && took_us < 10 * CLOCK_US_PER_S);
    witness_release(holder);
    bed_wait_status(server, id, "confirmed");
    bed_stop_all();
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

static void a_key_is_known_while_its_order_waits(void **state)
{
    char id[SHOP_ID_SIZE];

    (void)state;
    bed_start_three();
    shop_put(bed.servers[0], bed.product, 2, NULL);
    struct witness *holder = bed_hold();
    struct buy buy = bed_buy(1, 2);
    buy.key = "k";
    bed_accept(bed.servers[0], &buy, id);
    /* Sold out, and the flag is up; a repeat is a repeat all the same. */
    struct buy other = bed_buy(2, 1);
    shop_expect_buy(bed.servers[0], &other, 409, "sold_out", NULL);
    for (int i = 0; i < BED_INSTANCES; i++)
        expect_replay(bed.servers[i], &buy, id, "queued");
    buy.quantity = 1;
    shop_expect_buy(bed.servers[1], &buy, 409, "idempotency_mismatch", NULL);
    buy.quantity = 2;
    witness_release(holder);
    bed_wait_status(bed.servers[0], id, "confirmed");
    for (int i = 0; i < BED_INSTANCES; i++)
        expect_replay(bed.servers[i], &buy, id, "confirmed");
    bed_expect_settled();
    /* Also when Redis has forgotten the key. */
    bed_redis("DEL @key:%lld:k", (long long)buy.user);
    expect_replay(bed.servers[1], &buy, id, "confirmed");
    assert_int_equal(witness_sale(bed.witness, bed.product).orders, 1);
    bed_stop_all();
}

/* Nobody holds the row, so that the writer could sell it with its one statement. */
static void a_key_is_written_though_nothing_waits(void **state)
{
    char id[SHOP_ID_SIZE];

    (void)state;
    bed_start_three();
    shop_put(bed.servers[0], bed.product, 2, NULL);
    struct buy buy = bed_buy(1, 1);
    buy.key = "k";
    bed_accept(bed.servers[0], &buy, id);
    bed_wait_status(bed.servers[0], id, "confirmed");
    bed_expect_settled();
    bed_redis("DEL @key:%lld:k", (long long)buy.user);
    expect_replay(bed.servers[1], &buy, id, "confirmed");
    assert_int_equal(witness_sale(bed.witness, bed.product).orders, 1);
    bed_stop_all();
}

/* A key may have as many characters as one may; its order is found by it while it waits, and what
 * is let go of is told to Redis with it. */
static void the_longest_key_is_known_and_let_go_of(void **state)
{
    char key[ORDER_KEY_MAX + 1];
    char id[SHOP_ID_SIZE];

    (void)state;
    memset(key, 'k', ORDER_KEY_MAX);
    key[ORDER_KEY_MAX] = '\0';
    bed_start_three();
    shop_put(bed.servers[0], bed.product, 2, NULL);
    struct buy buy = bed_buy(1, 1);
    buy.key = key;
    struct witness *holder = bed_hold();
    bed_accept(bed.servers[0], &buy, id);
    expect_replay(bed.servers[1], &buy, id, "queued");
    witness_release(holder);
    bed_wait_status(bed.servers[0], id, "confirmed");
    bed_expect_settled();
    expect_replay(bed.servers[1], &buy, id, "confirmed");
    bed_stop_all();
}

/* The sale's key went to PostgreSQL first: the 202 that loses ends failed and names the winner. */
static void a_202_that_loses_its_key(void **state)
{
    char id[SHOP_ID_SIZE];
    char winner[SHOP_ID_SIZE];
    char target[96];
    char text[64];

    (void)state;
    bed_start_three();
    shop_put(bed.servers[0], bed.product, 4, NULL);
    shop_put(bed.servers[0], 70000, 4, NULL);
    struct witness *holder = bed_hold();
    struct buy buy = bed_buy(1, 1);
    buy.key = "both";
    bed_accept(bed.servers[0], &buy, id);
    struct buy first = {
        .strategy = "conditional", .product = 70000, .user = buy.user, .key = "both"};
    shop_expect_buy(bed.servers[1], &first, 201, "", winner);
    witness_release(holder);
    bed_wait_status(bed.servers[2], id, "failed");
    snprintf(target, sizeof target, "/orders/%s", id);
    struct http_reply reply = server_call(bed.servers[1], "GET", target, NULL, NULL);
    http_reply_text(&reply, "reason", text, sizeof text);
    assert_string_equal(text, "duplicate");
    http_reply_text(&reply, "first_order_id", text, sizeof text);
    assert_string_equal(text, winner);
    http_reply_fini(&reply);
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    shop_expect(bed.servers[0], "POST", target, NULL, NULL, 409, "not_cancellable");
    /* Unloaded, since PostgreSQL has refused what it gave. */
    BED_WAIT(bed_redis("EXISTS @mirror:%lld", (long long)bed.product) == 0);
    bed_expect_settled();
    bed_stop_all();
}

/* Before anything is written, and over what is written: a user's share is one. */
static void a_limit_counts_what_waits(void **state)
{
    (void)state;
    bed_start_three();
    shop_put(bed.servers[0], bed.product, 50, ", \"limit_per_user\": 3");
    struct buy buy = bed_buy(1, 2);
    shop_expect_buy(bed.servers[0], &buy, 201, "", NULL);
    struct witness *holder = bed_hold();
    shop_expect_buy(bed.servers[1], &buy, 409, "limit_reached", NULL);
    buy.quantity = 1;
    bed_accept(bed.servers[2], &buy, NULL);
    for (int i = 0; i < BED_INSTANCES; i++)
        shop_expect_buy(bed.servers[i], &buy, 409, "limit_reached", NULL);
    witness_release(holder);
    bed_expect_settled();
    assert_int_equal(witness_sale(bed.witness, bed.product).sold, 3);
    /* A mirror that is loaded anew knows what users hold. */
    bed_redis("DEL @mirror:%lld", (long long)bed.product);
    shop_expect_buy(bed.servers[1], &buy, 409, "limit_reached", NULL);
    buy = bed_buy(2, 3);
    shop_expect_buy(bed.servers[1], &buy, 201, "", NULL);
    bed_expect_reconciled();
    bed_stop_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_waits_is_one_call, bed_teardown),
        cmocka_unit_test_teardown(every_instance_knows_every_state, bed_teardown),
        cmocka_unit_test_teardown(a_queued_order_is_cancelled_once_decided, bed_teardown),
        cmocka_unit_test_teardown(a_cancel_waits_no_longer_than_it_may, bed_teardown),
        cmocka_unit_test_teardown(a_key_is_known_while_its_order_waits, bed_teardown),
        cmocka_unit_test_teardown(a_key_is_written_though_nothing_waits, bed_teardown),
        cmocka_unit_test_teardown(the_longest_key_is_known_and_let_go_of, bed_teardown),
        cmocka_unit_test_teardown(a_202_that_loses_its_key, bed_teardown),
        cmocka_unit_test_teardown(a_limit_counts_what_waits, bed_teardown),
    };

    bed_begin("redis_stock");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bed_end("redis_stock");
    return failed != 0;
}
