/*
 * Somebody has written into redis-stock's Redis, or it has dropped something: no accepted order is
 * lost by what can still be known, nothing stays reserved, and a wrong mirror is found though the
 * product does not rest.
 */
#include "lib/fixtures/stock_cluster.h"
#include "lib/pg_proxy.h"
#include "lib/stack.h"

#include <stdio.h>
#include <stdlib.h>

enum { ORDERS = 3 };

TEST(what_the_stream_has_lost_is_put_back)
{
    char ids[ORDERS][SHOP_ID_SIZE];

    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 10, NULL);
    struct witness *hand = cluster_hold();
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = cluster_buy(1 + i, 2);
        cluster_accept(server, &buy, ids[i]);
    }
    T_UNTIL(cluster_claims("row_held") >=
            ORDERS); /* the writer does not have them in hand any more */
    assert_true(cluster_redis("XTRIM @orders MAXLEN 0") > 0);
    for (int i = 0; i < ORDERS; i++)
        cluster_expect_status(server, ids[i], "queued");
    witness_close(hand);
    for (int i = 0; i < ORDERS; i++)
        cluster_wait_status(server, ids[i], "confirmed");
    cluster_expect_reconciled();
    assert_int_equal(witness_sale(cluster.witness, cluster.product).stock, 10 - 2 * ORDERS);
    cluster_stop_all();
}

/* What it counts as waiting is gone without a trace: nothing is reserved any more. */
TEST(nothing_is_reserved_for_nobody)
{
    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 10, NULL);
    struct witness *hand = cluster_hold();
    struct buy buy = cluster_buy(1, 3);
    cluster_accept(server, &buy, NULL);
    T_UNTIL(cluster_claims("row_held") > 0);
    cluster_redis("XTRIM @orders MAXLEN 0");
    cluster_redis("DEL @waiting");
    witness_close(hand);
    T_UNTIL(cluster_redis("HLEN @units") == 0);
    T_UNTIL(cluster_redis("EXISTS @mirror:%lld", (long long)cluster.product) == 0);
    buy = cluster_buy(2, 10);
    shop_expect_buy(server, &buy, 201, "", NULL);
    cluster_expect_settled();
    cluster_stop_all();
}

/* What the user has bought is held: the order waits, the product's row is free. */
TEST(a_mirror_is_mended_while_an_order_waits)
{
    char id[SHOP_ID_SIZE];

    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 100, ", \"limit_per_user\": 5");
    struct buy buy = cluster_buy(1, 1);
    shop_expect_buy(server, &buy, 201, "", NULL);
    struct witness *hand = witness_open(cluster.conninfo);
    witness_run(hand, "BEGIN");
    witness_run(hand, "SELECT 1 FROM purchase WHERE user_id = %lld FOR UPDATE",
                (long long)buy.user);
    cluster_accept(server, &buy, id);
    cluster_redis("HINCRBY @mirror:%lld stock -40", (long long)cluster.product);
    T_UNTIL(cluster_redis("EXISTS @mirror:%lld", (long long)cluster.product) == 0);
    assert_int_equal(cluster_redis("HGET @units orders"), 1);
    buy = cluster_buy(2, 5);
    cluster_accept(server, &buy, NULL); /* loads it */
    assert_int_equal(cluster_mirror(), 100 - 1 - 1 - 5);
    witness_close(hand);
    cluster_wait_status(server, id, "confirmed");
    cluster_expect_settled();
    cluster_stop_all();
}

/* Nobody waits, but it is never quiet for long. */
TEST(a_mirror_is_mended_while_others_sell)
{
    int64_t other = 5000;

    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 100, NULL);
    shop_put(server, other + cluster.product, 1000000, NULL);
    struct buy buy = cluster_buy(1, 1);
    shop_expect_buy(server, &buy, 201, "", NULL);
    buy.product += other;
    cluster_accept(server, &buy, NULL);
    cluster_redis("HINCRBY @mirror:%lld stock 40", (long long)cluster.product);
    T_UNTIL((buy.user++, cluster_accept(server, &buy, NULL),
             cluster_redis("EXISTS @mirror:%lld", (long long)cluster.product) == 0));
    cluster_stop_all();
}

/* Another strategy sells, whose orders need the row: it is not locked for a mirror that nobody has
 * bought from. */
TEST(a_mirror_that_nobody_uses_costs_no_lock)
{
    char *folder = stack_socket_folder();
    struct pg_proxy *proxy = pg_proxy_create(folder);
    char *through = stack_database_through(cluster.conninfo, pg_proxy_folder(proxy));

    cluster.product++;
    server_use_database(through);
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 100, NULL);
    shop_put(server, CLUSTER_OTHER_PRODUCT, 100, NULL);
    pg_proxy_arm(proxy, "product_lock_nowait", PG_FAULT_LOSE_REQUEST);
    struct buy buy = cluster_buy(1, 1);
    buy.strategy = "conditional";
    shop_expect_buy(server, &buy, 201, "", NULL);
    buy = cluster_buy(2, 1);
    buy.product = CLUSTER_OTHER_PRODUCT; /* which begins a round */
    shop_expect_buy(server, &buy, 201, "", NULL);
    T_UNTIL(cluster_redis("EXISTS @mirror:%lld", (long long)cluster.product) == 0);
    assert_false(pg_proxy_has_bitten(proxy));
    cluster_stop_all();
    server_use_database(cluster.conninfo);
    pg_proxy_destroy(proxy);
    free(through);
    free(folder);
}

TEST(units_in_buckets_count)
{
    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 100, NULL);
    struct buy buy = cluster_buy(1, 3);
    shop_expect_buy(server, &buy, 201, "", NULL);
    cluster_expect_settled();
    witness_run(cluster.witness,
                "WITH was AS (UPDATE product SET stock = 0, split = true, version = version + 1"
                " WHERE id = %lld RETURNING id, epoch)"
                " INSERT INTO bucket SELECT id, 0, epoch, 97 FROM was",
                (long long)cluster.product);
    cluster_expect_reconciled();
    assert_int_equal(cluster_mirror(), 97);
    cluster_stop_all();
}

TEST_EACH(NULL, cluster_teardown)

int main(void)
{
    cluster_begin("redis_stock_mends");
    int failed = t_run_all(NULL, NULL);
    cluster_end("redis_stock_mends");
    return failed != 0;
}
