/*
 * Somebody has written into redis-stock's Redis, or it has dropped something: no accepted order is
 * lost by what can still be known, nothing stays reserved, and a wrong mirror is found though the
 * product does not rest.
 */
#include "lib/fixtures/stock_bed.h"
#include "lib/pg_proxy.h"
#include "lib/stack.h"

#include <stdio.h>
#include <stdlib.h>

enum { ORDERS = 3 };

static void what_the_stream_has_lost_is_put_back(void **state)
{
    char ids[ORDERS][SHOP_ID_SIZE];

    (void)state;
    bed.product++;
    struct server *server = bed_start(NULL, NULL);
    shop_put(server, bed.product, 10, NULL);
    struct witness *hand = bed_hold();
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = bed_buy(1 + i, 2);
        bed_accept(server, &buy, ids[i]);
    }
    BED_WAIT(bed_claims("row_held") >= ORDERS); /* the writer does not have them in hand any more */
    assert_true(bed_redis("XTRIM @orders MAXLEN 0") > 0);
    for (int i = 0; i < ORDERS; i++)
        bed_expect_status(server, ids[i], "queued");
    witness_close(hand);
    for (int i = 0; i < ORDERS; i++)
        bed_wait_status(server, ids[i], "confirmed");
    bed_expect_reconciled();
    assert_int_equal(witness_sale(bed.witness, bed.product).stock, 10 - 2 * ORDERS);
    bed_stop_all();
}

/* What it counts as waiting is gone without a trace: nothing is reserved any more. */
static void nothing_is_reserved_for_nobody(void **state)
{
    (void)state;
    bed.product++;
    struct server *server = bed_start(NULL, NULL);
    shop_put(server, bed.product, 10, NULL);
    struct witness *hand = bed_hold();
    struct buy buy = bed_buy(1, 3);
    bed_accept(server, &buy, NULL);
    BED_WAIT(bed_claims("row_held") > 0);
    bed_redis("XTRIM @orders MAXLEN 0");
    bed_redis("DEL @waiting");
    witness_close(hand);
    BED_WAIT(bed_redis("HLEN @units") == 0);
    BED_WAIT(bed_redis("EXISTS @mirror:%lld", (long long)bed.product) == 0);
    buy = bed_buy(2, 10);
    shop_expect_buy(server, &buy, 201, "", NULL);
    bed_expect_settled();
    bed_stop_all();
}

/* What the user has bought is held: the order waits, the product's row is free. */
static void a_mirror_is_mended_while_an_order_waits(void **state)
{
    char id[SHOP_ID_SIZE];

    (void)state;
    bed.product++;
    struct server *server = bed_start(NULL, NULL);
    shop_put(server, bed.product, 100, ", \"limit_per_user\": 5");
    struct buy buy = bed_buy(1, 1);
    shop_expect_buy(server, &buy, 201, "", NULL);
    struct witness *hand = witness_open(bed.conninfo);
    witness_run(hand, "BEGIN");
    witness_run(hand, "SELECT 1 FROM purchase WHERE user_id = %lld FOR UPDATE",
                (long long)buy.user);
    bed_accept(server, &buy, id);
    bed_redis("HINCRBY @mirror:%lld stock -40", (long long)bed.product);
    BED_WAIT(bed_redis("EXISTS @mirror:%lld", (long long)bed.product) == 0);
    assert_int_equal(bed_redis("HGET @units orders"), 1);
    buy = bed_buy(2, 5);
    bed_accept(server, &buy, NULL); /* loads it */
    assert_int_equal(bed_mirror(), 100 - 1 - 1 - 5);
    witness_close(hand);
    bed_wait_status(server, id, "confirmed");
    bed_expect_settled();
    bed_stop_all();
}

/* Nobody waits, but it is never quiet for long. */
static void a_mirror_is_mended_while_others_sell(void **state)
{
    int64_t other = 5000;

    (void)state;
    bed.product++;
    struct server *server = bed_start(NULL, NULL);
    shop_put(server, bed.product, 100, NULL);
    shop_put(server, other + bed.product, 1000000, NULL);
    struct buy buy = bed_buy(1, 1);
    shop_expect_buy(server, &buy, 201, "", NULL);
    buy.product += other;
    bed_accept(server, &buy, NULL);
    bed_redis("HINCRBY @mirror:%lld stock 40", (long long)bed.product);
    BED_WAIT((buy.user++, bed_accept(server, &buy, NULL),
              bed_redis("EXISTS @mirror:%lld", (long long)bed.product) == 0));
    bed_stop_all();
}

/* Another strategy sells, whose orders need the row: it is not locked for a mirror that nobody has
 * bought from. */
static void a_mirror_that_nobody_uses_costs_no_lock(void **state)
{
    char *folder = stack_socket_folder();
    struct pg_proxy *proxy = pg_proxy_create(folder);
    char *through = stack_database_through(bed.conninfo, pg_proxy_folder(proxy));

    (void)state;
    bed.product++;
    server_use_database(through);
    struct server *server = bed_start(NULL, NULL);
    shop_put(server, bed.product, 100, NULL);
    shop_put(server, BED_OTHER_PRODUCT, 100, NULL);
    pg_proxy_arm(proxy, "product_lock_nowait", PG_FAULT_LOSE_REQUEST);
    struct buy buy = bed_buy(1, 1);
    buy.strategy = "conditional";
    shop_expect_buy(server, &buy, 201, "", NULL);
    buy = bed_buy(2, 1);
    buy.product = BED_OTHER_PRODUCT; /* which begins a round */
    shop_expect_buy(server, &buy, 201, "", NULL);
    BED_WAIT(bed_redis("EXISTS @mirror:%lld", (long long)bed.product) == 0);
    assert_false(pg_proxy_has_bitten(proxy));
    bed_stop_all();
    server_use_database(bed.conninfo);
    pg_proxy_destroy(proxy);
    free(through);
    free(folder);
}

static void units_in_buckets_count(void **state)
{
    (void)state;
    bed.product++;
    struct server *server = bed_start(NULL, NULL);
    shop_put(server, bed.product, 100, NULL);
    struct buy buy = bed_buy(1, 3);
    shop_expect_buy(server, &buy, 201, "", NULL);
    bed_expect_settled();
    witness_run(bed.witness,
                "WITH was AS (UPDATE product SET stock = 0, split = true, version = version + 1"
                " WHERE id = %lld RETURNING id, epoch)"
                " INSERT INTO bucket SELECT id, 0, epoch, 97 FROM was",
                (long long)bed.product);
    bed_expect_reconciled();
    assert_int_equal(bed_mirror(), 97);
    bed_stop_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_the_stream_has_lost_is_put_back, bed_teardown),
        cmocka_unit_test_teardown(nothing_is_reserved_for_nobody, bed_teardown),
        cmocka_unit_test_teardown(a_mirror_is_mended_while_an_order_waits, bed_teardown),
        cmocka_unit_test_teardown(a_mirror_is_mended_while_others_sell, bed_teardown),
        cmocka_unit_test_teardown(a_mirror_that_nobody_uses_costs_no_lock, bed_teardown),
        cmocka_unit_test_teardown(units_in_buckets_count, bed_teardown),
    };

    bed_begin("redis_stock_mends");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bed_end("redis_stock_mends");
    return failed != 0;
}
