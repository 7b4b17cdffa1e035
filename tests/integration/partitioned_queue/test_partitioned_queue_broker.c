/*
 * partitioned-queue and whoever else uses the broker: servers that see another database. No order
 * is refused because of them.
 */
#include "queue_shop.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { PRODUCT = 17 };

/* A server under the shop's name that sees another PostgreSQL, in which the same sales are on and
 * none of the shop's orders is: after a failover, one that still sees the old primary. It is the
 * active consumer of every set when this returns, and the shop's first server alone is left. */
static struct server *let_another_consume(struct queue_shop *shop, const char *database,
                                          bool is_copy)
{
    char *conninfo = stack_database_create(database);
    struct server *other = server_start("--system-name", "nobody", "--database", conninfo);
    struct witness *witness = witness_open(conninfo);

    if (is_copy)
        witness_run(witness, "UPDATE epoch_base SET base = %lld",
                    (long long)witness_number(shop->witness, "SELECT base FROM epoch_base"));
    witness_close(witness);
    server_stop(other);
    other = server_start("--system-name", shop->system, "--database", conninfo);
    for (int64_t product = 1; product <= 4; product++)
        shop_put(other, product, 100, NULL);
    for (int i = QUEUE_INSTANCES; i-- > 0;)
        server_stop(shop->servers[i]);
    for (int64_t product = 1; product <= 4; product++) {
        struct buy buy = queue_buy(product, 1);
        shop_expect_buy_soon(other, &buy, 201);
    }
    free(conninfo);
    shop->servers[0] = server_start("--system-name", shop->system);
    shop->servers[1] = shop->servers[2] = NULL;
    return other;
}

/* Whoever has no row of an order cannot say that there is none. */
static void another_database_s_consumer_refuses_nothing(void **state)
{
    static const char database[] = "seckill_queue_other";
    struct queue_shop shop;
    char id[SHOP_ID_SIZE];

    (void)state;
    queue_shop_open(&shop, NULL, -1, NULL);
    struct server *other = let_another_consume(&shop, database, true);
    for (int64_t product = 1; product <= 4; product++) {
        struct buy buy = queue_buy(product, 50);
        buy.more = "&wait_ms=30000";
        shop_expect_buy(shop.servers[0], &buy, 201, "", id);
        queue_expect_cancel(shop.servers[0], id, 200, "");
    }
    server_stop(other);
    stack_database_drop(database);
    queue_shop_close(&shop);
}

/* A rehearsal under the shop's name: each has queues of its own. */
static void two_databases_share_no_queue(void **state)
{
    static const char database[] = "seckill_queue_other";
    struct queue_shop shop;

    (void)state;
    queue_shop_open(&shop, NULL, -1, NULL);
    struct server *other = let_another_consume(&shop, database, false);
    for (int64_t product = 1; product <= 4; product++) {
        struct buy buy = queue_buy(product, 50);
        shop_expect_buy_soon(shop.servers[0], &buy, 201);
        buy.user = 51;
        shop_expect_buy(other, &buy, 201, "", NULL);
    }
    assert_false(server_says(other, "handed back"));
    assert_false(server_says(shop.servers[0], "handed back"));
    server_stop(other);
    stack_database_drop(database);
    queue_shop_close(&shop);
}

/* Once it has been handed back, who waits is not kept, and nothing stands behind it. */
static void an_order_without_a_row_stops_nobody(void **state)
{
    struct queue_shop shop;
    char id[SHOP_ID_SIZE];
    struct buy buy = queue_buy(PRODUCT, 1);

    (void)state;
    queue_shop_open(&shop, NULL, -1, NULL);
    shop_put(shop.servers[0], PRODUCT, 10, NULL);
    struct witness *holder = witness_hold(shop.conninfo, PRODUCT);
    queue_expect_accepted(shop.servers[1], &buy, id);
    struct crowd *crowd = crowd_create();
    shop_crowd_cancel(crowd, shop.servers[2], id);
    crowd_send(crowd);
    witness_wait_blocked(shop.witness, 1);
    witness_run(shop.witness, "DELETE FROM orders WHERE id = '%s'", id);
    witness_release(holder);
    crowd_finish(crowd, QUEUE_PATIENCE_US);
    if (crowd_count(crowd, 404, "not_found") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    buy.user = 2;
    shop_expect_buy(shop.servers[2], &buy, 201, "", NULL);
    witness_expect_exact(shop.witness, PRODUCT);
    queue_shop_close(&shop);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(another_database_s_consumer_refuses_nothing, server_teardown),
        cmocka_unit_test_teardown(two_databases_share_no_queue, server_teardown),
        cmocka_unit_test_teardown(an_order_without_a_row_stops_nobody, server_teardown),
    };

    return queue_run("partitioned_queue_broker", tests, sizeof tests / sizeof *tests);
}
