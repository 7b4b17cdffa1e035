/*
 * redis-stock while its sale changes: restocks and cancels despite the sold-out flag, a PUT in the
 * middle, windows, a mirror that is deleted or wrong, other strategies on the same product.
 */
#include "lib/fixtures/stock_cluster.h"
#include "lib/stack.h"

#include "base/clock.h"
#include "strategies/redis_stock/stock_flag.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Keeps every instance's flag up: each refusal that goes as far as Redis renews it. */
static void refuse_everywhere(void)
{
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < 12; i++) {
        struct buy buy = cluster_buy(500 + i, 1);
        shop_crowd_buy(crowd, cluster.servers[i % cluster.count], &buy);
    }
    crowd_finish(crowd, CLUSTER_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 409, "sold_out"), 12);
    crowd_destroy(crowd);
}

/* Once the answer to whatever added stock is there, no instance refuses on old news. That no round
 * of the reconciler has found anything is not asked: it may meet stock that is committed and of
 * which the mirror is just about to hear. */
TEST(stock_that_comes_back_is_seen_at_once)
{
    enum { ROUNDS = 16 };
    char id[SHOP_ID_SIZE] = "";

    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, 0, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        struct server *adding = cluster.servers[round % CLUSTER_INSTANCES];
        struct server *buying = cluster.servers[(round + 1) % CLUSTER_INSTANCES];
        struct buy restock = cluster_buy(0, 1);
        char target[96];
        refuse_everywhere();
        snprintf(target, sizeof target, "/orders/%s/cancel", id);
        int64_t begun_us = clock_mono_us();
        if (round % 4 == 1)
            restock.strategy = "conditional";
        if (round % 4 == 3)
            shop_put(adding, cluster.product, 1, NULL);
        else if (round % 4 == 2)
            shop_expect(adding, "POST", target, NULL, NULL, 200, "");
        else
            shop_expect_restock(adding, &restock, 200, "");
        /* A flag may have gone up just before. */
        assert_true(clock_mono_us() - begun_us >= STOCK_LEASE_US);
        struct buy buy = cluster_buy(1 + round, 1);
        shop_expect_buy(buying, &buy, 201, "", id);
        cluster_expect_settled();
    }
    cluster_stop_all();
}

/* Redis is lost between a cancel's commit and its telling the mirror. */
static void reset_redis(struct server *server, struct crowd *crowd)
{
    (void)crowd;
    assert_true(cluster_redis("CLIENT KILL TYPE normal") > 0);
    server_resume(server);
}

/* For longer than the work may take. */
static void freeze_redis(struct server *server, struct crowd *crowd)
{
    cluster_signal_stock(SIGSTOP);
    server_resume(server);
    T_UNTIL(server_says(server, "redis-stock: Redis"));
    assert_false(crowd_wait(crowd, 1, clock_mono_us() + 2 * STOCK_LEASE_US));
    cluster_signal_stock(SIGCONT);
}

/* The writer, which would mend the mirror some time later, is busy: the cancel's answer waits. */
TEST(a_cancel_is_answered_when_the_mirror_knows)
{
    static void (*const lose[])(struct server *, struct crowd *) = {reset_redis, freeze_redis};
    char id[SHOP_ID_SIZE];
    char other[SHOP_ID_SIZE];

    for (int i = 0; i < 2; i++) {
        struct crowd *crowd = crowd_create();
        struct server *server = cluster_start_working(
            "stock-writer-read=pause:600000@2,stock-correcting=stop", NULL, "4000");
        cluster.product++;
        shop_put(server, cluster.product, 2, NULL);
        struct buy buy = cluster_buy(1, 1);
        shop_expect_buy(server, &buy, 201, "", id);
        buy.user = 2;
        cluster_accept(server, &buy, other);
        buy.user = 3;
        shop_expect_buy(server, &buy, 409, "sold_out", NULL);
        shop_crowd_cancel(crowd, server, id);
        crowd_send(crowd);
        server_wait_stopped(server);
        lose[i](server, crowd);
        crowd_finish(crowd, CLUSTER_PATIENCE_US);
        assert_int_equal(crowd_count(crowd, 200, ""), 1);
        crowd_destroy(crowd);
        cluster_accept(server, &buy, other);
        server_signal(server, SIGKILL); /* its writer sleeps */
        cluster_bury(server);
        cluster_start(NULL, NULL);
        cluster_expect_settled();
        cluster_stop_all();
    }
}

/* A unit on the shelf of which the mirror has not heard. */
static void add_unheard_of(void)
{
    witness_run(cluster.witness,
                "UPDATE product SET stock = stock + 1, initial_stock = initial_stock + 1,"
                " version = version + 1 WHERE id = %lld",
                (long long)cluster.product);
}

/* A client that repeats a restock or a cancel, for lack of an answer, gets one; and then the units
 * are there for redis-stock, too. */
TEST(who_finds_it_done_tells_the_mirror)
{
    static const char *const strategies[] = {"redis-stock", "conditional"};
    char target[96];
    char id[SHOP_ID_SIZE] = "";

    cluster_start_three();
    for (int i = 0; i < 2; i++) {
        struct buy restock = cluster_buy(0, 1);
        struct buy buy = cluster_buy(1 + i, 1);
        shop_put(cluster.servers[0], cluster.product, 0, NULL);
        restock.key = strategies[i];
        restock.strategy = strategies[i];
        shop_expect_restock(cluster.servers[0], &restock, 200, "");
        buy.strategy = strategies[i];
        shop_expect_buy(cluster.servers[0], &buy, 201, "", id);
        cluster_expect_settled();
        snprintf(target, sizeof target, "/orders/%s/cancel", id);
        shop_expect(cluster.servers[0], "POST", target, NULL, NULL, 200, "");
        buy.strategy = "redis-stock";
        shop_expect_buy(cluster.servers[0], &buy, 201, "", id);
        cluster_expect_settled();
        /* As if a server had added a unit and died before the mirror heard of it; the reconciler
         * comes later, when it is quiet. */
        add_unheard_of();
        buy.user = 10 + i;
        shop_expect_restock(cluster.servers[2], &restock, 200, "");
        shop_expect_buy(cluster.servers[1], &buy, 201, "", NULL);
        cluster_expect_settled();
        add_unheard_of();
        buy.user = 20 + i;
        shop_expect(cluster.servers[2], "POST", target, NULL, NULL, 200, "");
        shop_expect_buy(cluster.servers[1], &buy, 201, "", NULL);
    }
    cluster_stop_all();
}

static void put_amid(const char *key)
{
    char old[SHOP_ID_SIZE];
    char new[SHOP_ID_SIZE];

    cluster.product++;
    cluster_start("stock-writer-read=hold", NULL);
    shop_put(cluster.servers[0], cluster.product, 10, NULL);
    struct buy buy = cluster_buy(1, 7);
    buy.key = key;
    cluster_accept(cluster.servers[0], &buy, old);
    cluster_expect_status(cluster.servers[0], old, "queued");
    shop_put(cluster.servers[0], cluster.product, 10, NULL);
    /* Gone at once, though its entry is still to come to the writer; its key is free. */
    cluster_expect_status(cluster.servers[0], old, "404");
    assert_int_equal(cluster_mirror(), 10);
    cluster_accept(cluster.servers[0], &buy, new);
    server_let_go(cluster.servers[0]);
    cluster_wait_status(cluster.servers[0], new, "confirmed");
    cluster_expect_status(cluster.servers[0], old, "404");
    cluster_expect_settled(); /* what is counted has been by then */
    /* The old one may come to the writer twice, handed over and from the history: see catch_up. */
    assert_true(cluster_claims("sale_ended") >= 1);
    assert_int_equal(cluster_claims("confirmed"), 1);
    cluster_expect_reconciled();
    assert_int_equal(witness_sale(cluster.witness, cluster.product).stock, 3);
    cluster_stop_all();
}

TEST(a_new_sale_amid_the_old_one)
{
    put_amid("again");
}

/* The one statement of a batch without keys. */
TEST(a_new_sale_amid_orders_without_keys)
{
    put_amid(NULL);
}

/* A PUT that Redis has not heard of: the old mirror's orders are refused by PostgreSQL's epoch. */
TEST(a_mirror_of_an_ended_sale)
{
    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, 10, NULL);
    struct buy buy = cluster_buy(1, 1);
    shop_expect_buy(cluster.servers[1], &buy, 201, "", NULL);
    cluster_expect_settled();
    witness_run(cluster.witness,
                "UPDATE product SET epoch = epoch + 1, stock = 4, initial_stock = 4,"
                " version = version + 1 WHERE id = %lld",
                (long long)cluster.product);
    int64_t epoch = witness_sale(cluster.witness, cluster.product).epoch;
    /* The reconciler meets it, or an order does; nothing of it reaches the new sale's stock. */
    struct http_reply reply = shop_send(cluster.servers[2], &buy);
    http_reply_fini(&reply);
    T_UNTIL(cluster_redis("HGET @mirror:%lld epoch", (long long)cluster.product) != epoch - 1 &&
            cluster_waiting() == 0);
    int64_t left = witness_sale(cluster.witness, cluster.product).stock;
    for (int i = 0; i < left; i++) {
        buy.user++;
        shop_expect_buy(cluster.servers[i % CLUSTER_INSTANCES], &buy, 201, "", NULL);
    }
    shop_expect_buy(cluster.servers[0], &buy, 409, "sold_out", NULL);
    cluster_expect_settled();
    cluster_stop_all();
}

/* Deleted while orders wait: loaded again, less what waits. */
TEST(a_mirror_that_is_deleted)
{
    struct buy buy;

    cluster.product++;
    cluster_start("stock-writer-read=hold", NULL);
    shop_put(cluster.servers[0], cluster.product, 5, ", \"limit_per_user\": 3");
    buy = cluster_buy(1, 3);
    cluster_accept(cluster.servers[0], &buy, NULL);
    cluster_redis("DEL @mirror:%lld", (long long)cluster.product);
    shop_expect_buy(cluster.servers[0], &buy, 409, "sold_out", NULL);
    assert_int_equal(cluster_mirror(), 2);
    buy = cluster_buy(1, 1);
    shop_expect_buy(cluster.servers[0], &buy, 409, "limit_reached", NULL);
    buy = cluster_buy(2, 2);
    cluster_accept(cluster.servers[0], &buy, NULL);
    buy = cluster_buy(3, 1);
    shop_expect_buy(cluster.servers[0], &buy, 409, "sold_out", NULL);
    server_let_go(cluster.servers[0]);
    cluster_expect_reconciled();
    assert_int_equal(cluster_claims("refused"), 0);
    assert_int_equal(witness_sale(cluster.witness, cluster.product).sold, 5);
    cluster_stop_all();
}

static struct buy cluster_buy_with(int64_t user, const char *key)
{
    struct buy buy = cluster_buy(user, 1);

    buy.key = key;
    return buy;
}

/* Nobody who has an answer waits until a mirror is loaded whose window is wrong. A call is
 * under way meanwhile, so that a repeat and a new order come in one batch. */
TEST(a_wrong_window_holds_up_nobody_else)
{
    struct crowd *crowd = crowd_create();

    cluster.product++;
    cluster_start_working("stock-reserved=pause:1500@2,stock-loading=hold@2", NULL, "60000");
    shop_put(cluster.servers[0], cluster.product, 5, NULL);
    struct witness *holder = cluster_hold();
    struct buy repeat = cluster_buy_with(1, "again");
    cluster_accept(cluster.servers[0], &repeat, NULL);
    struct buy first = cluster_buy(2, 1);
    shop_crowd_buy(crowd, cluster.servers[0], &first);
    crowd_send(crowd);
    T_UNTIL(cluster_mirror() == 3);
    cluster_redis("HSET @mirror:%lld closes 1", (long long)cluster.product);
    struct buy other = cluster_buy(3, 1);
    shop_crowd_buy(crowd, cluster.servers[0], &repeat);
    shop_crowd_buy(crowd, cluster.servers[0], &other);
    crowd_send(crowd);
    witness_release(holder);
    assert_true(crowd_wait(crowd, 2, clock_mono_us() + CLUSTER_PATIENCE_US));
    T_UNTIL(server_says(cluster.servers[0], "failpoint stock-loading: hold"));
    server_let_go(cluster.servers[0]);
    crowd_finish(crowd, CLUSTER_PATIENCE_US);
    if (crowd_count(crowd, 201, "") != 2 || crowd_count(crowd, 200, "") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    cluster_expect_settled();
    assert_int_equal(witness_sale(cluster.witness, cluster.product).sold, 3);
    cluster_stop_all();
}

/* Many delete it, many buy. */
TEST(a_mirror_that_is_deleted_again_and_again)
{
    enum { BUYERS = 120, STOCK = 50 };
    struct crowd *crowd = crowd_create();

    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, STOCK, NULL);
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = cluster_buy(1 + i, 1);
        shop_crowd_buy(crowd, cluster.servers[i % CLUSTER_INSTANCES], &buy);
        crowd_send(crowd);
        if (i % 10 == 0)
            cluster_redis("DEL @mirror:%lld", (long long)cluster.product);
    }
    crowd_finish(crowd, CLUSTER_PATIENCE_US);
    if (crowd_count(crowd, 201, "") != STOCK ||
        crowd_count(crowd, 409, "sold_out") != BUYERS - STOCK)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    cluster_expect_reconciled();
    assert_int_equal(cluster_claims("refused"), 0);
    cluster_stop_all();
}

static bool is_loaded(void)
{
    return cluster_redis("EXISTS @mirror:%lld", (long long)cluster.product) == 1;
}

/* It says too much: PostgreSQL refuses, the orders end failed, the mirror is unloaded. */
TEST(a_mirror_that_says_too_much)
{
    char id[SHOP_ID_SIZE];
    char status[16];
    char reason[64];

    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, 2, NULL);
    cluster_redis("HINCRBY @mirror:%lld stock 3", (long long)cluster.product);
    struct buy buy = cluster_buy(1, 4);
    cluster_accept(cluster.servers[0], &buy, id);
    cluster_wait_status(cluster.servers[1], id, "failed");
    cluster_status(cluster.servers[1], id, status, reason);
    assert_string_equal(reason, "sold_out");
    T_UNTIL(!is_loaded());
    buy = cluster_buy(2, 2);
    shop_expect_buy(cluster.servers[2], &buy, 201, "", NULL);
    cluster_expect_settled();
    cluster_stop_all();
}

static int64_t rebuilds(void)
{
    int64_t sum = 0;

    for (int i = 0; i < cluster.count; i++)
        sum += server_metric(cluster.servers[i], "seckill_redis_stock_rebuilds_total", "");
    return sum;
}

/* Wrong, and nobody buys: the reconciler finds it. */
static void be_wrong_by(int drift)
{
    int64_t before = rebuilds();
    struct buy other = cluster_buy(10 + drift, 1);

    shop_put(cluster.servers[0], cluster.product, 9, NULL);
    cluster_redis("HINCRBY @mirror:%lld stock %d", (long long)cluster.product, drift);
    other.product = CLUSTER_OTHER_PRODUCT;
    shop_expect_buy(cluster.servers[0], &other, 201, "", NULL);
    T_UNTIL(!is_loaded() && rebuilds() > before);
}

TEST(the_reconciler_finds_a_wrong_mirror)
{
    cluster_start_three();
    shop_put(cluster.servers[0], CLUSTER_OTHER_PRODUCT, 10, NULL);
    be_wrong_by(3);
    be_wrong_by(-2);
    cluster_expect_settled();
    cluster_stop_all();
}

/* Reserved inside the window, written outside of it: PostgreSQL has the last word. */
TEST(a_sale_that_closes_meanwhile)
{
    char id[SHOP_ID_SIZE];
    char status[16];
    char reason[64];

    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, 5, ", \"closes_at\": \"2099-01-01T00:00:00Z\"");
    struct witness *holder = cluster_hold();
    struct buy buy = cluster_buy(1, 1);
    cluster_accept(cluster.servers[0], &buy, id);
    witness_run(holder, "UPDATE product SET closes_at = clock_timestamp() WHERE id = %lld",
                (long long)cluster.product);
    witness_run(holder, "COMMIT");
    witness_close(holder);
    cluster_wait_status(cluster.servers[1], id, "failed");
    cluster_status(cluster.servers[1], id, status, reason);
    assert_string_equal(reason, "sale_not_open");
    /* The mirror that is built anew knows it too. */
    T_UNTIL(!is_loaded());
    shop_expect_buy(cluster.servers[2], &buy, 409, "sale_not_open", NULL);
    cluster_expect_settled();
    cluster_stop_all();
}

TEST_EACH(NULL, cluster_teardown)

int main(void)
{
    cluster_begin("redis_stock_changes");
    int failed = t_run_all(NULL, NULL);
    cluster_end("redis_stock_changes");
    return failed != 0;
}
