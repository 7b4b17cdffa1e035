/*
 * partitioned-queue where nothing fails: what every strategy must do is tested with the others
 * (sale, keys, returns, epochs); here is what is its own: 202, orders that wait, their order.
 */
#include "queue_shop.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { PRODUCT = 17 };

static void sell_all(struct queue_shop *shop, int64_t product, int instances)
{
    enum { BUYERS = 90, STOCK = 25 };
    struct crowd *crowd = crowd_create();

    shop_put(shop->servers[0], product, STOCK, NULL);
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = queue_buy(product, 1 + i);
        shop_crowd_buy(crowd, shop->servers[i % instances], &buy);
    }
    crowd_finish(crowd, QUEUE_PATIENCE_US);
    if (crowd_count(crowd, 201, "") != STOCK ||
        crowd_count(crowd, 409, "sold_out") != BUYERS - STOCK)
        fail_msg("%s", crowd_summary(crowd));
    assert_int_equal(crowd_distinct_orders(crowd), STOCK);
    crowd_destroy(crowd);
    assert_int_equal(witness_sale(shop->witness, product).orders, STOCK);
    witness_expect_exact(shop->witness, product);
    shop_expect_consistent(shop->servers[0], product);
}

TEST(sells_what_there_is)
{
    struct queue_shop shop;

    queue_shop_open(&shop, NULL, -1, NULL);
    sell_all(&shop, PRODUCT, 1);
    sell_all(&shop, PRODUCT + 1, QUEUE_INSTANCES);
    queue_shop_close(&shop);
}

/* The consumer is stopped, so nothing is decided when the wait is over. */
TEST(a_short_wait_is_accepted_and_decided_later)
{
    struct queue_shop shop;
    char first[SHOP_ID_SIZE];
    char second[SHOP_ID_SIZE];
    struct buy buy = queue_buy(PRODUCT, 1);

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[1], PRODUCT, 1, NULL);
    server_pause(shop.servers[0]);
    queue_expect_accepted(shop.servers[1], &buy, first);
    queue_expect_status(shop.servers[2], first, "queued", NULL);
    shop_expect_consistent(shop.servers[2], PRODUCT);
    buy.user = 2;
    queue_expect_accepted(shop.servers[1], &buy, second);
    server_resume(shop.servers[0]);
    queue_wait_decided(&shop, PRODUCT);
    queue_expect_status(shop.servers[2], first, "confirmed", NULL);
    queue_expect_status(shop.servers[1], second, "failed", "sold_out");
    queue_expect_cancel(shop.servers[1], second, 409, "not_cancellable");
    witness_expect_exact(shop.witness, PRODUCT);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).stock, 0);
    queue_shop_close(&shop);
}

/* Of the product by itself, and in a list. */
static void expect_units(struct server *server, int64_t reserved, int64_t stock)
{
    static const char *const targets[] = {"/products/17", "/products?after=16&limit=1"};
    static const char *const before[] = {"", "products.0."};

    for (int i = 0; i < 2; i++) {
        struct http_reply reply = server_call(server, "GET", targets[i], NULL, NULL);
        assert_int_equal(http_reply_int(&reply, t_text("%sreserved", before[i])), reserved);
        assert_int_equal(http_reply_int(&reply, t_text("%sstock", before[i])), stock);
        http_reply_fini(&reply);
    }
}

TEST(reserved_is_what_waits)
{
    struct queue_shop shop;
    char id[SHOP_ID_SIZE];
    struct buy buy = queue_buy(PRODUCT, 1);

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[1], PRODUCT, 10, NULL);
    buy.quantity = 3;
    server_pause(shop.servers[0]);
    queue_expect_accepted(shop.servers[2], &buy, id);
    expect_units(shop.servers[1], 3, 10);
    server_resume(shop.servers[0]);
    queue_wait_decided(&shop, PRODUCT);
    expect_units(shop.servers[1], 0, 7);
    queue_shop_close(&shop);
}

TEST(a_queued_order_is_decided_then_cancelled)
{
    struct queue_shop shop;
    char id[SHOP_ID_SIZE];
    struct buy buy = queue_buy(PRODUCT, 1);

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[0], PRODUCT, 2, ", \"limit_per_user\": 2");
    buy.quantity = 2;
    struct witness *holder = witness_hold(shop.conninfo, PRODUCT);
    queue_expect_accepted(shop.servers[0], &buy, id);
    struct crowd *crowd = crowd_create();
    shop_crowd_cancel(crowd, shop.servers[1], id);
    crowd_send(crowd);
    witness_wait_blocked(shop.witness, 1);
    assert_false(crowd_wait(crowd, 1, clock_mono_us()));
    witness_release(holder);
    crowd_finish(crowd, QUEUE_PATIENCE_US);
    if (crowd_count(crowd, 200, "") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    queue_expect_status(shop.servers[2], id, "cancelled", NULL);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).stock, 2);
    /* Stock and limit are back. */
    shop_expect_buy(shop.servers[2], &buy, 201, "", NULL);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

/* No order was refused that came before one that was confirmed. */
static void expect_in_order(struct queue_shop *shop, int64_t product)
{
    assert_int_equal(
        witness_number(shop->witness,
                       "SELECT count(*) FROM orders WHERE product_id = %lld AND status = 1 AND"
                       " id > (SELECT id FROM orders WHERE product_id = %lld AND status = 3"
                       " ORDER BY id LIMIT 1)",
                       (long long)product, (long long)product),
        0);
}

/* The lane's worker pauses with the first one in its hand, so that the others are one batch. */
TEST(a_batch_keeps_its_order)
{
    enum { BUYERS = 40, STOCK = 11 };
    struct queue_shop shop;
    struct crowd *crowd = crowd_create();

    queue_shop_open(&shop, NULL, 0, "queue.written=pause:1000@5");
    shop_put(shop.servers[0], PRODUCT, STOCK, NULL);
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = queue_buy(PRODUCT, 1 + i);
        shop_crowd_buy(crowd, shop.servers[0], &buy);
    }
    crowd_finish(crowd, QUEUE_PATIENCE_US);
    if (crowd_count(crowd, 201, "") != STOCK ||
        crowd_count(crowd, 409, "sold_out") != BUYERS - STOCK)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    expect_in_order(&shop, PRODUCT);
    queue_shop_close(&shop);
}

/* Each order names its product's set; what came first is decided first. */
TEST(orders_of_a_product_keep_their_order)
{
    enum { ORDERS = 60, STOCK = 20, PRODUCTS = 3 };
    struct queue_shop shop;

    queue_shop_open(&shop, "50", -1, NULL);
    for (int64_t product = PRODUCT; product < PRODUCT + PRODUCTS; product++)
        shop_put(shop.servers[0], product, STOCK, NULL);
    for (int i = 0; i < ORDERS; i++)
        for (int64_t product = PRODUCT; product < PRODUCT + PRODUCTS; product++) {
            struct buy buy = queue_buy(product, 1 + i);
            queue_buy_briefly(shop.servers[product % QUEUE_INSTANCES], &buy);
        }
    for (int64_t product = PRODUCT; product < PRODUCT + PRODUCTS; product++) {
        queue_wait_decided(&shop, product);
        assert_int_equal(witness_sale(shop.witness, product).orders, STOCK);
        expect_in_order(&shop, product);
        witness_expect_exact(shop.witness, product);
    }
    queue_shop_close(&shop);
}

/* The consumer whose turn it is stops, and the others have nothing to do with its messages. */
TEST(one_consumer_alone_decides)
{
    enum { ORDERS = 6 };
    struct queue_shop shop;
    char id[SHOP_ID_SIZE];

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[1], PRODUCT, ORDERS, NULL);
    server_pause(shop.servers[0]);
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = queue_buy(PRODUCT, 1 + i);
        queue_expect_accepted(shop.servers[1 + i % 2], &buy, id);
    }
    clock_sleep_until(clock_mono_us() + CLOCK_US_PER_S);
    assert_int_equal(
        witness_number(shop.witness,
                       "SELECT count(*) FROM orders WHERE product_id = 17 AND status = 0"),
        ORDERS);
    server_resume(shop.servers[0]);
    queue_wait_decided(&shop, PRODUCT);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).orders, ORDERS);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

/* The repeat sends the order's id again. The consumer is stopped meanwhile, so that both messages
 * come to it together. */
TEST(an_order_twice_in_a_batch_is_decided_once)
{
    struct queue_shop shop;
    struct buy buy = queue_buy(PRODUCT, 1);
    char id[SHOP_ID_SIZE];

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[1], PRODUCT, 5, NULL);
    server_pause(shop.servers[0]);
    buy.key = "twice";
    queue_expect_accepted(shop.servers[1], &buy, id);
    buy.more = "&wait_ms=2500";
    shop_expect_buy(shop.servers[2], &buy, 200, "", NULL);
    server_resume(shop.servers[0]);
    queue_wait_decided(&shop, PRODUCT);
    queue_expect_status(shop.servers[1], id, "confirmed", NULL);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).stock, 4);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

/* A refusal is not remembered, whether it was told as 409 or came after a 202. A repeat of what is
 * queued waits for the decision, for as long as it may; then it gets the order as it is. */
TEST(a_refused_key_may_come_again)
{
    struct queue_shop shop;
    char id[SHOP_ID_SIZE];
    struct buy buy = queue_buy(PRODUCT, 1);
    struct buy restock = queue_buy(PRODUCT, 0);

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[0], PRODUCT, 0, NULL);
    buy.key = "again";
    shop_expect_buy(shop.servers[0], &buy, 409, "sold_out", NULL);
    server_pause(shop.servers[0]);
    queue_expect_accepted(shop.servers[1], &buy, id);
    buy.more = "&wait_ms=2500";
    shop_expect_buy(shop.servers[2], &buy, 200, "", NULL);
    server_resume(shop.servers[0]);
    buy.more = "&wait_ms=30000";
    shop_expect_buy(shop.servers[2], &buy, 409, "sold_out", NULL);
    queue_expect_status(shop.servers[0], id, "failed", "sold_out");
    restock.quantity = 1;
    shop_expect_restock(shop.servers[1], &restock, 200, "");
    struct witness *holder =
        witness_hold(shop.conninfo, PRODUCT); /* so that it is not yet decided */
    queue_expect_accepted(shop.servers[2], &buy, id);
    witness_release(holder);
    shop_expect_buy(shop.servers[1], &buy, 200, "", NULL);
    queue_expect_status(shop.servers[0], id, "confirmed", NULL);
    shop_expect_buy(shop.servers[0], &buy, 200, "", NULL);
    buy.quantity = 2;
    shop_expect_buy(shop.servers[0], &buy, 409, "idempotency_mismatch", NULL);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

/* Whether the PUT has the row before the consumer. It stands there first, but begins its wait anew
 * now and then (LOCK_MOST_MS), and may so lose its place. */
static bool put_comes_first(struct queue_shop *shop)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = queue_buy(PRODUCT, 2);

    shop_put(shop->servers[0], PRODUCT, 5, NULL);
    struct witness *holder = witness_hold(shop->conninfo, PRODUCT);
    crowd_add(crowd, shop->servers[2], "PUT", "/products/17", NULL, "{\"stock\": 5}");
    crowd_send(crowd);
    witness_wait_blocked(shop->witness, 1);
    shop_crowd_buy(crowd, shop->servers[1], &buy);
    crowd_send(crowd);
    witness_wait_blocked(shop->witness, 2);
    witness_release(holder);
    crowd_finish(crowd, QUEUE_PATIENCE_US);
    bool first = crowd_count(crowd, 201, "") == 0;
    if (first && crowd_count(crowd, 409, "sale_not_open") != 1)
        fail_msg("%s", crowd_summary(crowd));
    assert_int_equal(crowd_count(crowd, 200, ""), 1);
    crowd_destroy(crowd);
    assert_int_equal(witness_sale(shop->witness, PRODUCT).stock, 5);
    witness_expect_exact(shop->witness, PRODUCT);
    return first;
}

/* The sale that it was queued for is over: nobody gets it, and nothing of it stays. The row is held
 * until first the PUT and then the consumer wait for it. */
TEST(a_put_ends_what_waits)
{
    struct queue_shop shop;

    queue_shop_open(&shop, NULL, -1, NULL);
    T_UNTIL(put_comes_first(&shop));
    queue_shop_close(&shop);
}

TEST(nothing_without_a_broker)
{
    server_use_database(stack_database());
    struct server *server = server_start("--amqp", NULL);
    struct buy buy = queue_buy(PRODUCT, 1);

    shop_put(server, PRODUCT, 1, NULL);
    shop_expect_buy(server, &buy, 503, "strategy_unavailable", NULL);
    buy.strategy = "conditional";
    shop_expect_buy(server, &buy, 201, "", NULL);
    server_stop(server);
}

/* On 127.0.0.1:1 nobody listens, and behind 192.0.2.1 there is no net. */
TEST(a_node_that_is_away_is_passed_over)
{
    static const char *const around[][2] = {{"amqp://127.0.0.1:1/,amqp://192.0.2.1/,", ""},
                                            {"", ",amqp://127.0.0.1:1/"}};

    server_use_database(stack_database());
    for (int i = 0; i < 2; i++) {
        char list[512];
        struct buy buy = queue_buy(PRODUCT, 1);
        snprintf(list, sizeof list, "%s%s%s", around[i][0], stack_amqp(), around[i][1]);
        struct server *server = server_start("--amqp", list);
        shop_put(server, PRODUCT, 1, NULL);
        shop_expect_buy_soon(server, &buy, 201);
        server_stop(server);
    }
}

TEST(a_list_that_is_none_ends_the_start)
{
    static const char *const lists[] = {"amqp://127.0.0.1/,", "amqp://127.0.0.1/,redis://b/"};

    for (int i = 0; i < 2; i++) {
        char log[1024];
        struct server *server = server_launch((const char *const[]){"--amqp", lists[i], NULL});
        assert_int_equal(server_wait(server, log, sizeof log), 2);
        assert_non_null(
            strstr(log, "--amqp takes amqp[s]://USER:PASSWORD@HOST:PORT/VHOST, up to 8"));
    }
}

TEST_EACH(NULL, server_teardown)

int main(void)
{
    return queue_run();
}
