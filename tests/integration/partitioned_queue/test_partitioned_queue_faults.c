/*
 * partitioned-queue where something fails: a consumer is killed between commit and acknowledgement,
 * an instance between row and message, a consumer is stopped, the broker is killed. Every accepted
 * order is decided, once.
 */
#include "queue_shop.h"

#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The failpoints are of the product alone: how often others were decided before, as the shop
 * opened, nobody knows, since a message may come again. */
enum { PRODUCT = 17 };
#define OF_IT "#17"

static int64_t republished(const struct queue_shop *shop)
{
    int64_t sum = 0;

    for (int i = 0; i < QUEUE_INSTANCES; i++)
        if (shop->servers[i])
            sum += server_metric(shop->servers[i], "seckill_queue_republished_total", "");
    return sum;
}

/* Counted once the broker has confirmed it, and so perhaps after the decision. */
static void wait_republished(const struct queue_shop *shop, int64_t orders)
{
    int64_t since_us = clock_mono_us();

    while (republished(shop) < orders)
        t_wait(since_us, "not published again");
}

/* The server has ended by itself. */
static void expect_killed(struct queue_shop *shop, int number)
{
    char log[4096];

    assert_int_equal(server_wait(shop->servers[number], log, sizeof log), 128 + SIGKILL);
    shop->servers[number] = NULL;
}

/* Buyers for the two servers that do not consume. */
static void crowd_the_others(struct crowd *crowd, const struct queue_shop *shop, int buyers,
                             const char *more)
{
    for (int i = 0; i < buyers; i++) {
        struct buy buy = queue_buy(PRODUCT, 1 + i);
        buy.more = more;
        shop_crowd_buy(crowd, shop->servers[1 + i % 2], &buy);
    }
}

/* Its messages go to the next consumer, which finds them decided and only answers. */
TEST(a_consumer_dies_between_commit_and_ack)
{
    enum { BUYERS = 40, STOCK = 15 };
    struct queue_shop shop;
    struct crowd *crowd = crowd_create();

    queue_shop_open(&shop, NULL, 0, "queue.decided" OF_IT "=kill");
    shop_put(shop.servers[1], PRODUCT, STOCK, NULL);
    crowd_the_others(crowd, &shop, BUYERS, "&wait_ms=30000");
    crowd_finish(crowd, QUEUE_PATIENCE_US);
    expect_killed(&shop, 0);
    if (crowd_count(crowd, 201, "") != STOCK ||
        crowd_count(crowd, 409, "sold_out") != BUYERS - STOCK)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).orders, STOCK);
    assert_int_equal(
        witness_number(shop.witness, "SELECT count(*) FROM orders WHERE product_id = 17"), BUYERS);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

/* When its answer comes from the next consumer an order that was to be paid has become this. */
static void end_meanwhile(int status, const char *name)
{
    struct queue_shop shop;
    struct crowd *crowd = crowd_create();
    char told[16];

    queue_shop_open(&shop, NULL, 0, "queue.committed" OF_IT "=hold");
    shop_put(shop.servers[1], PRODUCT, 1, ", \"hold_s\": 3600");
    crowd_the_others(crowd, &shop, 1, "&wait_ms=60000");
    crowd_send(crowd);
    T_UNTIL(witness_sale(shop.witness, PRODUCT).pending == 1);
    witness_run(shop.witness, "UPDATE orders SET status = %d WHERE product_id = 17", status);
    witness_run(shop.witness, "UPDATE product SET stock = 1 WHERE id = 17");
    server_kill(shop.servers[0]);
    shop.servers[0] = NULL;
    crowd_answers(crowd, QUEUE_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 201, ""), 1);
    http_reply_text(&crowd_at(crowd, 0)->reply, "status", told, sizeof told);
    assert_string_equal(told, name);
    crowd_destroy(crowd);
    queue_shop_close(&shop);
}

TEST(an_order_ends_before_its_answer_comes)
{
    end_meanwhile(2, "cancelled");
    end_meanwhile(5, "expired");
}

/* The same product's, from the stock as Redis has it. */
static struct buy mirror_buy(int64_t user)
{
    return (struct buy){.strategy = "redis-stock", .product = PRODUCT, .user = user};
}

/* The same for what has no row: a restock is done, and once. And once its answer is there, what
 * Redis knows of the product's stock is not the old news. */
static void restock_through_a_death(const char *failpoint)
{
    struct queue_shop shop;
    struct buy restock = queue_buy(PRODUCT, 0);
    struct buy buy = mirror_buy(1);

    queue_shop_open(&shop, NULL, 0, failpoint);
    shop_put(shop.servers[1], PRODUCT, 0, NULL);
    shop_expect_buy(shop.servers[1], &buy, 409, "sold_out", NULL);
    restock.quantity = 7;
    restock.more = "&wait_ms=30000";
    shop_expect_restock(shop.servers[1], &restock, 200, "");
    shop_expect_buy(shop.servers[1], &buy, 201, "", NULL);
    expect_killed(&shop, 0);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).stock, 6);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

TEST(a_consumer_dies_after_a_restock)
{
    restock_through_a_death("queue.decided" OF_IT "=kill");
}

static void wait_sold_out(struct server *server, const struct buy *buy)
{
    int64_t until_us = clock_mono_us() + QUEUE_PATIENCE_US;
    char code[32] = "";

    while (strcmp(code, "sold_out") != 0) {
        struct http_reply reply = shop_buy(server, buy);
        http_reply_code(&reply, code, sizeof code);
        http_reply_fini(&reply);
        if (clock_mono_us() >= until_us)
            fail_msg("%s instead of sold_out", code);
    }
}

/* The message's next consumer finds the restock done, and tells Redis all the same. */
TEST(a_consumer_dies_between_a_restock_and_its_mirror)
{
    restock_through_a_death("queue.committed" OF_IT "=kill");
}

/* The restock's wait ends while its consumer stands between COMMIT and mirror: whoever looks up
 * what became of it says so to Redis before it answers. */
TEST(a_mirror_is_told_before_the_answer)
{
    struct queue_shop shop;
    struct buy restock = queue_buy(PRODUCT, 0);
    struct buy buy = mirror_buy(1);
    char id[SHOP_ID_SIZE];

    queue_shop_open(&shop, NULL, 0, "queue.committed" OF_IT "=hold");
    shop_put(shop.servers[1], PRODUCT, 0, NULL);
    shop_expect_buy(shop.servers[1], &buy, 409, "sold_out", NULL);
    restock.quantity = 2;
    restock.more = "&wait_ms=5000";
    shop_expect_restock(shop.servers[1], &restock, 200, "");
    shop_expect_buy(shop.servers[1], &buy, 201, "", NULL);
    server_let_go(shop.servers[0]);
    /* And a cancel's unit. */
    struct buy last = queue_buy(PRODUCT, 2);
    last.more = "&wait_ms=30000";
    shop_expect_buy(shop.servers[2], &last, 201, "", id);
    buy.user = 3;
    /* The mirror does not know of that sale until an order that it lets in is refused. */
    wait_sold_out(shop.servers[2], &buy);
    queue_expect_cancel(shop.servers[2], id, 200, "");
    shop_expect_buy(shop.servers[2], &buy, 201, "", NULL);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

TEST(a_consumer_dies_before_a_restocks_commit)
{
    restock_through_a_death("queue.restocking=kill");
}

/* The row is there and no message: another instance sends it. */
TEST(an_instance_dies_before_it_publishes)
{
    struct queue_shop shop;
    struct crowd *crowd = crowd_create();
    struct buy buy = queue_buy(PRODUCT, 1);

    queue_shop_open(&shop, NULL, 2, "queue.written=kill");
    shop_put(shop.servers[0], PRODUCT, 2, NULL);
    shop_crowd_buy(crowd, shop.servers[2], &buy);
    crowd_finish(crowd, QUEUE_PATIENCE_US);
    assert_int_equal(crowd_lost(crowd), 1);
    crowd_destroy(crowd);
    expect_killed(&shop, 2);
    assert_int_equal(
        witness_number(shop.witness,
                       "SELECT count(*) FROM orders WHERE product_id = 17 AND status IN (0, 1)"),
        1);
    queue_wait_decided(&shop, PRODUCT);
    wait_republished(&shop, 1);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).orders, 1);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).stock, 1);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

/* Nobody consumes for some seconds, so the waiting orders are published again; then the consumer
 * gets every message twice. */
TEST(what_is_published_twice_is_decided_once)
{
    enum { BUYERS = 20, STOCK = 8 };
    struct queue_shop shop;
    struct crowd *crowd = crowd_create();

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[1], PRODUCT, STOCK, NULL);
    server_pause(shop.servers[0]);
    crowd_the_others(crowd, &shop, BUYERS, "&wait_ms=30000");
    crowd_send(crowd);
    int64_t until_us = clock_mono_us() + QUEUE_PATIENCE_US;
    int64_t sent = 0;
    while (sent < BUYERS && clock_mono_us() < until_us) {
        sent = server_metric(shop.servers[1], "seckill_queue_republished_total", "") +
               server_metric(shop.servers[2], "seckill_queue_republished_total", "");
        clock_sleep_until(clock_mono_us() + 50000);
    }
    assert_true(sent >= BUYERS);
    server_resume(shop.servers[0]);
    crowd_finish(crowd, QUEUE_PATIENCE_US);
    if (crowd_count(crowd, 201, "") != STOCK ||
        crowd_count(crowd, 409, "sold_out") != BUYERS - STOCK)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).orders, STOCK);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

/* The consumer stops with the product's row in its hand. PostgreSQL frees the row, the broker gives
 * the messages to another consumer, and when the first one goes on it finds everything done. */
TEST(a_stopped_consumer_is_replaced)
{
    struct queue_shop shop;
    struct crowd *crowd = crowd_create();

    queue_shop_open(&shop, NULL, 0, "queue.deciding" OF_IT "=stop");
    shop_put(shop.servers[1], PRODUCT, 3, NULL);
    crowd_the_others(crowd, &shop, 10, "&wait_ms=60000");
    /* The broker misses two of its heartbeats first. */
    crowd_finish(crowd, 60 * CLOCK_US_PER_S);
    server_resume(shop.servers[0]);
    if (crowd_count(crowd, 201, "") != 3 || crowd_count(crowd, 409, "sold_out") != 7)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    /* It serves again. */
    struct buy buy = queue_buy(PRODUCT, 99);
    buy.more = "&wait_ms=60000";
    shop_expect_buy(shop.servers[0], &buy, 409, "sold_out", NULL);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).orders, 3);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

/* RabbitMQ 3.10 writes down half a second late where a new queue's log is, and does not
 * find one again that was made just before it was killed (rabbitmq/ra, pull request 443). The
 * queues of a service are older than that; so are these, then. */
static void wait_for_sync(void)
{
    clock_sleep_until(clock_mono_us() + 2000000);
}

/* Buys until one is answered 201; the servers are not restarted. */
static void wait_serving(struct server *server, int64_t product)
{
    int64_t since_us = clock_mono_us();
    int status = 0;

    for (int64_t user = 1000; status != 201; user++) {
        struct buy buy = queue_buy(product, user);
        struct http_reply reply = shop_buy(server, &buy);
        status = reply.status;
        http_reply_fini(&reply);
        t_wait(since_us, "%d after the broker's return", status);
    }
}

/* In less than a single question takes to a broker that does not answer, or, on a machine that
 * stood still meanwhile, the next time. */
static void expect_refused_soon(struct server *server)
{
    enum { SOON_US = 4500000 };
    int64_t until_us = clock_mono_us() + QUEUE_PATIENCE_US;
    int64_t begun_us;
    struct buy buy = queue_buy(PRODUCT, 1);
    struct buy restock = queue_buy(PRODUCT, 0);

    restock.quantity = 1;
    do {
        begun_us = clock_mono_us();
        assert_true(begun_us < until_us);
        shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
        shop_expect_restock(server, &restock, 503, "backend_unavailable");
    } while (clock_mono_us() - begun_us >= SOON_US);
}

TEST(the_broker_is_down_and_comes_back)
{
    struct queue_shop shop;
    struct buy buy = queue_buy(PRODUCT, 1);
    struct buy other = queue_buy(PRODUCT, 2);

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[0], PRODUCT, 10, NULL);
    shop_expect_buy(shop.servers[0], &buy, 201, "", NULL);
    wait_for_sync();
    stack_kill("rabbitmq", SIGKILL);
    for (int i = 0; i < QUEUE_INSTANCES; i++) {
        queue_wait_noticed(shop.servers[i]);
        expect_refused_soon(shop.servers[i]);
    }
    other.strategy = "conditional";
    shop_expect_buy(shop.servers[1], &other, 201, "", NULL);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).orders, 2);
    stack_up();
    for (int i = 0; i < QUEUE_INSTANCES; i++)
        wait_serving(shop.servers[i], PRODUCT);
    queue_wait_decided(&shop, PRODUCT);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

/* The consumer has decided and finds the broker gone when it answers two instances and then
 * acknowledges: three calls on a connection that the first of them loses. */
TEST(the_broker_dies_between_commit_and_reply)
{
    enum { BUYERS = 8 };
    struct queue_shop shop;
    struct crowd *crowd = crowd_create();

    queue_shop_open(&shop, NULL, 0, "queue.decided" OF_IT "=stop");
    wait_for_sync();
    shop_put(shop.servers[1], PRODUCT, BUYERS, NULL);
    server_pause(shop.servers[0]);
    /* Time for the messages to go one by one, and not for any to go again. */
    crowd_the_others(crowd, &shop, BUYERS, "&wait_ms=2500");
    crowd_answers(crowd, QUEUE_PATIENCE_US);
    if (crowd_count(crowd, 202, "") != BUYERS)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    server_resume(shop.servers[0]);
    server_wait_stopped(shop.servers[0]);
    stack_kill("rabbitmq", SIGKILL);
    /* Its sockets end some milliseconds after the broker. */
    queue_wait_noticed(shop.servers[1]);
    queue_wait_noticed(shop.servers[2]);
    server_resume(shop.servers[0]);
    queue_wait_noticed(shop.servers[0]);
    stack_up();
    queue_wait_decided(&shop, PRODUCT);
    assert_int_equal(witness_sale(shop.witness, PRODUCT).orders, BUYERS);
    witness_expect_exact(shop.witness, PRODUCT);
    shop_put(shop.servers[0], PRODUCT + 1, 100, NULL);
    wait_serving(shop.servers[0], PRODUCT + 1);
    queue_shop_close(&shop);
}

/* Orders accepted before and while the broker died, which the held product leaves undecided, are
 * decided after it, and none is lost. */
TEST(the_broker_dies_in_the_middle)
{
    enum { BUYERS = 120, STOCK = 50 };
    struct queue_shop shop;
    struct witness *holder = NULL;
    struct crowd *crowd = crowd_create();

    queue_shop_open(&shop, "20", -1, NULL);
    wait_for_sync();
    shop_put(shop.servers[0], PRODUCT, STOCK, NULL);
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = queue_buy(PRODUCT, 1 + i);
        buy.more = "&wait_ms=500";
        shop_crowd_buy(crowd, shop.servers[i % QUEUE_INSTANCES], &buy);
        if (i % 12 == 11)
            crowd_send(crowd);
        if (i == BUYERS / 4)
            holder = witness_hold(shop.conninfo, PRODUCT);
        if (i == BUYERS / 2) {
            queue_wait_accepted(crowd);
            stack_kill("rabbitmq", SIGKILL);
        }
    }
    crowd_answers(crowd, QUEUE_PATIENCE_US);
    witness_release(holder);
    stack_up();
    queue_wait_decided(&shop, PRODUCT);
    struct sale sale = witness_sale(shop.witness, PRODUCT);
    int accepted = crowd_count(crowd, 202, "") + crowd_count(crowd, 201, "");
    for (int i = 0; i < BUYERS; i++) {
        const struct crowd_call *call = crowd_at(crowd, i);
        char id[SHOP_ID_SIZE];
        if (call->result != HTTP_REPLY || (call->reply.status != 201 && call->reply.status != 202))
            continue;
        http_reply_text(&call->reply, "id", id, sizeof id);
        assert_int_equal(
            witness_number(shop.witness,
                           "SELECT count(*) FROM orders WHERE id = '%s' AND status IN (1, 3)", id),
            1);
    }
    int64_t rows = witness_number(shop.witness, "SELECT count(*) FROM orders WHERE product_id=17");
    assert_true(rows >= accepted);
    assert_int_equal(sale.orders, rows < STOCK ? rows : STOCK);
    crowd_destroy(crowd);
    shop_put(shop.servers[0], PRODUCT + 1, 100, NULL);
    wait_serving(shop.servers[0], PRODUCT + 1);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

static bool is_decided(const struct queue_shop *shop, int64_t orders, int64_t stock)
{
    struct sale sale = witness_sale(shop->witness, PRODUCT);

    return sale.orders == orders && sale.cancelled == 1 && sale.stock == stock;
}

/* Buys of both products, and each of the other one is answered. */
static void buy_of_both(const struct queue_shop *shop, int64_t other, int buyers)
{
    char id[SHOP_ID_SIZE];

    for (int i = 0; i < buyers; i++) {
        struct buy buy = queue_buy(PRODUCT, 100 + i);
        queue_expect_accepted(shop->servers[i % QUEUE_INSTANCES], &buy, id);
        buy = queue_buy(other, 100 + i);
        buy.more = "&wait_ms=30000";
        shop_expect_buy(shop->servers[i % QUEUE_INSTANCES], &buy, 201, "", NULL);
        queue_expect_status(shop->servers[0], id, "queued", NULL);
    }
}

/* What the consumer of both products' set cannot decide now is in nobody's way, however many
 * messages come behind it; nothing of it is lost, neither a restock nor a cancel, which have no row
 * of their own. */
TEST(a_held_row_stops_no_other_product)
{
    enum { OTHER = PRODUCT + 4, BUYERS = 40, STOCK = 1000, MORE = 7 };
    struct queue_shop shop;
    char first[SHOP_ID_SIZE];

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[0], PRODUCT, STOCK, NULL);
    shop_put(shop.servers[0], OTHER, STOCK, NULL);
    struct buy buy = queue_buy(PRODUCT, 1);
    shop_expect_buy(shop.servers[1], &buy, 201, "", first);
    struct witness *holder = witness_hold(shop.conninfo, PRODUCT);
    struct crowd *crowd = crowd_create();
    buy.quantity = MORE;
    shop_crowd_restock(crowd, shop.servers[1], &buy);
    shop_crowd_cancel(crowd, shop.servers[2], first);
    crowd_send(crowd);
    buy_of_both(&shop, OTHER, BUYERS);
    witness_wait_blocked(shop.witness, 1); /* now and then it stands in line */
    buy_of_both(&shop, OTHER, 1);
    witness_release(holder);
    crowd_finish(crowd, QUEUE_PATIENCE_US);
    crowd_destroy(crowd);
    queue_wait_decided(&shop, PRODUCT);
    T_UNTIL(is_decided(&shop, BUYERS + 1, STOCK + MORE - BUYERS - 1));
    witness_expect_exact(shop.witness, PRODUCT);
    witness_expect_exact(shop.witness, OTHER);
    queue_shop_close(&shop);
}

/* What two users have bought, what a cancel needs, and a restock's key. */
static struct witness *hold_what_orders_need(const struct queue_shop *shop, const char *cancelled)
{
    struct witness *holder = witness_open(shop->conninfo);

    witness_run(holder, "BEGIN");
    witness_run(holder, "SELECT 1 FROM purchase WHERE product_id = %d AND user_id = 1 FOR UPDATE",
                PRODUCT);
    witness_run(holder, "INSERT INTO purchase SELECT id, 2, epoch, 1 FROM product WHERE id = %d",
                PRODUCT);
    witness_run(holder, "SELECT 1 FROM orders WHERE id = '%s' FOR UPDATE", cancelled);
    witness_run(holder,
                "INSERT INTO restock SELECT gen_random_uuid(), id, epoch, 1, 'conditional', 'held',"
                " now() FROM product WHERE id = %d",
                PRODUCT);
    return holder;
}

static int64_t confirmed(const struct queue_shop *shop, int64_t product)
{
    return witness_sale(shop->witness, product).orders;
}

/* Orders that wait for somebody's transaction, in a batch with many that do not. */
TEST(what_one_order_needs_stops_no_other)
{
    enum { OTHER = PRODUCT + 4, BUYERS = 50, STOCK = 1000, MORE = 7, WITHIN_US = 10000000 };
    struct queue_shop shop;
    char bought[2][SHOP_ID_SIZE];
    char held[2][SHOP_ID_SIZE];
    char id[SHOP_ID_SIZE];

    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[0], PRODUCT, STOCK, ", \"limit_per_user\": 5");
    shop_put(shop.servers[0], OTHER, STOCK, NULL);
    struct buy buys[] = {queue_buy(PRODUCT, 1), queue_buy(PRODUCT, 3), queue_buy(PRODUCT, 2)};
    for (int i = 0; i < 2; i++)
        shop_expect_buy(shop.servers[1], &buys[i], 201, "", bought[i]);
    struct witness *holder = hold_what_orders_need(&shop, bought[1]);
    struct witness *rows[] = {witness_hold(shop.conninfo, PRODUCT),
                              witness_hold(shop.conninfo, OTHER)};
    struct buy more = queue_buy(PRODUCT, 0);
    more.quantity = MORE;
    more.key = "held";
    more.more = "&wait_ms=60000";
    struct crowd *crowd = crowd_create();
    shop_crowd_restock(crowd, shop.servers[1], &more);
    shop_crowd_cancel(crowd, shop.servers[2], bought[1]);
    crowd_send(crowd);
    queue_expect_accepted(shop.servers[0], &buys[0], held[0]);
    queue_expect_accepted(shop.servers[1], &buys[2], held[1]);
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = queue_buy(i % 2 ? PRODUCT : OTHER, 100 + i);
        queue_expect_accepted(shop.servers[i % QUEUE_INSTANCES], &buy, id);
    }
    for (int i = 0; i < 2; i++)
        witness_release(rows[i]); /* so that they come to be decided together */
    int64_t until_us = clock_mono_us() + WITHIN_US;
    T_UNTIL(confirmed(&shop, PRODUCT) >= 2 + BUYERS / 2 && confirmed(&shop, OTHER) >= BUYERS / 2);
    assert_true(clock_mono_us() < until_us);
    for (int i = 0; i < 2; i++)
        queue_expect_status(shop.servers[0], held[i], "queued", NULL);
    witness_release(holder);
    crowd_finish(crowd, QUEUE_PATIENCE_US);
    crowd_destroy(crowd);
    queue_wait_decided(&shop, PRODUCT);
    until_us = clock_mono_us() + QUEUE_PATIENCE_US;
    T_UNTIL(is_decided(&shop, BUYERS / 2 + 3, STOCK + MORE - BUYERS / 2 - 3));
    witness_expect_exact(shop.witness, PRODUCT);
    witness_expect_exact(shop.witness, OTHER);
    queue_shop_close(&shop);
}

TEST_EACH(NULL, server_teardown)

int main(void)
{
    return queue_run();
}
