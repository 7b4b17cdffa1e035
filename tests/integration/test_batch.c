/*
 * The batch: many orders of many products in one transaction, and each still gets what it would get
 * alone.
 *
 * A test holds the row of a product of its own, PLUG; the lane's one worker then waits for that row
 * with one order in hand, and whatever is sent meanwhile is the next batch.
 */
#include "lib/cases.h"

#include "lib/stack.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLUG = 1000, GUILTY = 666, PATIENCE_US = 60000000 };

static struct server *server;
static struct witness *witness;
static struct witness *holder; /* of PLUG's row */
static char *conninfo;         /* owned */
static int64_t product;        /* and the next one */
static int64_t users = 10000;

static struct buy buy_of(int64_t of, int64_t user, int64_t quantity)
{
    return (struct buy){.strategy = "batch",
                        .product = of,
                        .user = user,
                        .quantity = quantity,
                        .more = "&wait_ms=60000"};
}

static void wait_metric(const char *family, const char *labels, int64_t value)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;

    while (server_metric(server, family, labels) != value)
        if (clock_mono_us() >= until_us)
            fail_msg("%s is not %lld", family, (long long)value);
}

static struct crowd *plug(void)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = buy_of(PLUG, 1, 1);
    int64_t until_us = clock_mono_us() + PATIENCE_US;

    wait_metric("seckill_orders_in_flight", "", 0);
    shop_put(server, PLUG, 1000, NULL);
    witness_run(holder, "BEGIN");
    witness_run(holder, "SELECT 1 FROM product WHERE id = %d FOR UPDATE", PLUG);
    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    while (witness_number(witness, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type ="
                                   " 'Lock' AND datname = current_database()") == 0)
        assert_true(clock_mono_us() < until_us);
    return crowd;
}

/* Stands behind what was sent before it. */
static void queue_up(struct crowd *crowd, const struct buy *buy)
{
    shop_crowd_buy(crowd, server, buy);
    crowd_send(crowd);
    wait_metric("seckill_lane_waiting", "strategy=\"batch\"", crowd_size(crowd) - 1);
}

static void unplug(struct crowd *crowd)
{
    witness_run(holder, "ROLLBACK");
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_at(crowd, 0)->reply.status, 201);
}

static void expect(const struct crowd *crowd, int i, int status, const char *code)
{
    const struct crowd_call *call = crowd_at(crowd, i);

    if (call->reply.status != status || strcmp(call->code, code) != 0)
        fail_msg("call %d: %d %s", i, call->reply.status, call->code);
}

static int64_t transactions(void)
{
    return witness_number(witness,
                          "SELECT count(DISTINCT xmin::text) FROM orders"
                          " WHERE product_id IN (%lld, %lld)",
                          (long long)product, (long long)product + 1);
}

static void two_products_are_one_transaction(void **state)
{
    (void)state;
    shop_put(server, product, 100, NULL);
    shop_put(server, product + 1, 100, ", \"limit_per_user\": 1");
    struct crowd *crowd = plug();
    for (int i = 0; i < 40; i++) {
        struct buy buy = buy_of(product + i % 2, ++users, 1 + (i % 2 == 0));
        shop_crowd_buy(crowd, server, &buy);
    }
    struct buy nothing = buy_of(999999, 1, 1);
    shop_crowd_buy(crowd, server, &nothing);
    crowd_send(crowd);
    wait_metric("seckill_lane_waiting", "strategy=\"batch\"", 41);
    unplug(crowd);
    if (crowd_count(crowd, 201, "") != 41 || crowd_count(crowd, 404, "unknown_product") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    assert_int_equal(transactions(), 1);
    assert_int_equal(witness_sale(witness, product).sold, 40);
    assert_int_equal(witness_sale(witness, product + 1).sold, 20);
    witness_expect_exact(witness, product);
    witness_expect_exact(witness, product + 1);
}

struct spent {
    int64_t orders;
    int64_t round_trips;
    int64_t flushes;
};

static struct spent spent_on(const char *ended)
{
    char labels[64];

    snprintf(labels, sizeof labels, "strategy=\"batch\",ended=\"%s\"", ended);
    return (struct spent){.orders = server_metric(server, "seckill_cost_orders_total", labels),
                          .round_trips =
                              server_metric(server, "seckill_cost_round_trips_total", labels),
                          .flushes = server_metric(server, "seckill_cost_flushes_total", labels)};
}

static void expect_spent(const char *ended, struct spent before, struct spent more)
{
    struct spent now = spent_on(ended);

    assert_int_equal(now.orders - before.orders, more.orders);
    assert_int_equal(now.round_trips - before.round_trips, more.round_trips);
    assert_int_equal(now.flushes - before.flushes, more.flushes);
}

/* Two batches: the plug's own order, and all that wait behind it. */
static void plug_and_buy(int count)
{
    struct crowd *crowd = plug();

    for (int i = 0; i < count; i++) {
        struct buy buy = buy_of(product, ++users, 1);
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    wait_metric("seckill_lane_waiting", "strategy=\"batch\"", count);
    unplug(crowd);
    crowd_destroy(crowd);
}

static void a_batch_is_charged_to_what_it_sold(void **state)
{
    (void)state;
    shop_put(server, product, 5, NULL);
    struct spent committed = spent_on("committed");
    struct spent refused = spent_on("refused");
    plug_and_buy(15);
    expect_spent("committed", committed, (struct spent){1 + 5, 1 + 2, 2});
    expect_spent("refused", refused, (struct spent){0, 0, 0});
    plug_and_buy(10);
    expect_spent("committed", committed, (struct spent){1 + 5 + 1, 1 + 2 + 1, 3});
    expect_spent("refused", refused, (struct spent){10, 2, 0});
}

static void in_arrival_order_whoever_fits(void **state)
{
    static const int64_t quantities[] = {3, 4, 2, 1};

    (void)state;
    shop_put(server, product, 5, NULL);
    struct crowd *crowd = plug();
    for (int i = 0; i < 4; i++) {
        struct buy buy = buy_of(product, ++users, quantities[i]);
        queue_up(crowd, &buy);
    }
    unplug(crowd);
    expect(crowd, 1, 201, "");
    expect(crowd, 2, 409, "sold_out");
    expect(crowd, 3, 201, "");
    expect(crowd, 4, 409, "sold_out");
    crowd_destroy(crowd);
    assert_int_equal(transactions(), 1);
    witness_expect_exact(witness, product);
}

static void a_user_twice_in_a_batch(void **state)
{
    static const int64_t quantities[] = {2, 2, 1};

    (void)state;
    shop_put(server, product, 50, ", \"limit_per_user\": 4");
    struct buy before = buy_of(product, 7, 1);
    shop_expect_buy(server, &before, 201, "", NULL);
    struct crowd *crowd = plug();
    for (int i = 0; i < 3; i++) {
        struct buy buy = buy_of(product, 7, quantities[i]);
        queue_up(crowd, &buy);
    }
    unplug(crowd);
    expect(crowd, 1, 201, "");
    expect(crowd, 2, 409, "limit_reached");
    expect(crowd, 3, 201, "");
    crowd_destroy(crowd);
    assert_int_equal(witness_number(witness,
                                    "SELECT units FROM purchase WHERE product_id = %lld"
                                    " AND user_id = 7",
                                    (long long)product),
                     4);
    witness_expect_exact(witness, product);
}

static void keys_in_a_batch(void **state)
{
    (void)state;
    shop_put(server, product, 2, NULL);
    shop_put(server, product + 1, 50, NULL);
    struct buy earlier = buy_of(product + 1, 8, 1);
    earlier.key = "earlier";
    shop_expect_buy(server, &earlier, 201, "", NULL);
    struct crowd *crowd = plug();
    struct buy buy = buy_of(product, 8, 2);
    buy.key = "twice";
    queue_up(crowd, &buy);
    queue_up(crowd, &buy);
    struct buy other = buy_of(product + 1, 8, 2);
    other.key = "twice";
    queue_up(crowd, &other);
    queue_up(crowd, &earlier);
    struct buy refused = buy_of(product, 8, 1);
    refused.key = "refused";
    queue_up(crowd, &refused);
    queue_up(crowd, &refused);
    unplug(crowd);
    expect(crowd, 1, 201, "");
    expect(crowd, 2, 200, "");
    expect(crowd, 3, 409, "idempotency_mismatch");
    expect(crowd, 4, 200, "");
    expect(crowd, 5, 409, "sold_out");
    expect(crowd, 6, 409, "sold_out");
    crowd_destroy(crowd);
    witness_expect_exact(witness, product);
    assert_int_equal(witness_sale(witness, product + 1).orders, 1);
}

/* A row that PostgreSQL refuses brings the whole transaction down; the others are innocent. */
static void the_guilty_order_stands_alone(void **state)
{
    enum { ORDERS = 37 };

    (void)state;
    shop_put(server, product, 100, NULL);
    witness_run(witness, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                         " RAISE EXCEPTION 'no' USING ERRCODE = 'P0001'; END $$");
    witness_run(witness,
                "CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW"
                " WHEN (new.user_id = %d) EXECUTE FUNCTION refuse()",
                GUILTY);
    struct crowd *crowd = plug();
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = buy_of(product, i == 20 ? GUILTY : ++users, 1);
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    wait_metric("seckill_lane_waiting", "strategy=\"batch\"", ORDERS);
    unplug(crowd);
    witness_run(witness, "DROP FUNCTION refuse() CASCADE");
    if (crowd_count(crowd, 201, "") != ORDERS ||
        crowd_count(crowd, 503, "backend_unavailable") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    assert_int_equal(witness_sale(witness, product).sold, ORDERS - 1);
    witness_expect_exact(witness, product);
}

/* Their batch waits for a row; the order that can wait no longer is answered, the others go on. */
static void the_impatient_do_not_wait_for_the_others(void **state)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;

    (void)state;
    shop_put(server, product, 10, NULL);
    struct crowd *crowd = plug();
    struct witness *second = witness_open(conninfo);
    witness_run(second, "BEGIN");
    witness_run(second, "SELECT 1 FROM product WHERE id = %lld FOR UPDATE", (long long)product);
    struct buy patient = buy_of(product, ++users, 1);
    struct buy impatient = buy_of(product, ++users, 1);
    impatient.more = "&wait_ms=3000";
    queue_up(crowd, &patient);
    queue_up(crowd, &impatient);
    witness_run(holder, "ROLLBACK");
    assert_true(crowd_wait(crowd, 2, until_us));
    expect(crowd, 0, 201, "");
    expect(crowd, 2, 503, "wait_timeout");
    assert_in_range(crowd_at(crowd, 2)->took_us, 3000000, 4000000);
    witness_run(second, "ROLLBACK");
    witness_close(second);
    crowd_finish(crowd, PATIENCE_US);
    expect(crowd, 1, 201, "");
    crowd_destroy(crowd);
    witness_expect_exact(witness, product);
}

static void cancels_and_restocks_among_them(void **state)
{
    char id[SHOP_ID_SIZE];
    struct buy first = buy_of(product, 9, 3);

    (void)state;
    shop_put(server, product, 3, NULL);
    shop_expect_buy(server, &first, 201, "", id);
    struct crowd *crowd = plug();
    struct buy restock = buy_of(product, 0, 2);
    struct buy buy = buy_of(product, ++users, 5);
    queue_up(crowd, &buy);
    shop_crowd_cancel(crowd, server, id);
    shop_crowd_restock(crowd, server, &restock);
    crowd_send(crowd);
    unplug(crowd);
    if (crowd_count(crowd, 200, "") != 2)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    witness_expect_exact(witness, product);
    assert_int_equal(witness_sale(witness, product).cancelled, 1);
}

static int next_products(void **state)
{
    (void)state;
    product += 2;
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, next_products)
    const struct CMUnitTest tests[] = {
        TEST(two_products_are_one_transaction),
        TEST(a_batch_is_charged_to_what_it_sold),
        TEST(in_arrival_order_whoever_fits),
        TEST(a_user_twice_in_a_batch),
        TEST(keys_in_a_batch),
        TEST(the_guilty_order_stands_alone),
        TEST(the_impatient_do_not_wait_for_the_others),
        TEST(cancels_and_restocks_among_them),
    };
    conninfo = stack_database_create("seckill_batch");

    server_use_database(conninfo);
    server = server_start("--work-timeout-ms", "30000", "--lock-ttl-ms", "60000");
    witness = witness_open(conninfo);
    holder = witness_open(conninfo);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    witness_close(witness);
    witness_close(holder);
    if (!failed)
        server_stop(server);
    server_teardown(NULL);
    stack_database_drop("seckill_batch");
    free(conninfo);
    return failed != 0;
}
