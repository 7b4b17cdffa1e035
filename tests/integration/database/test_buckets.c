/*
 * Buckets: the stock in several rows, and what that must not change: the last unit is found, the
 * strategies that decide on the product's row see all of it, and nothing outlives a PUT.
 */
#include "lib/fixtures/cases.h"

#include "lib/stack.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 8, PATIENCE_US = 60000000 };

static struct server *servers[2];
static struct witness *witness;
static char *conninfo; /* owned */
static int64_t product;

static int64_t rows(void)
{
    return witness_number(witness, "SELECT count(*) FROM bucket WHERE product_id = %lld",
                          (long long)product);
}

static int64_t row_stock(void)
{
    return witness_number(witness, "SELECT stock FROM product WHERE id = %lld", (long long)product);
}

/* In a session of its own: within one transaction pg_stat_activity shows the same again and again.
 */
static struct witness *hold_buckets(void)
{
    struct witness *holder = witness_open(conninfo);

    witness_run(holder, "BEGIN");
    witness_run(holder, "SELECT 1 FROM bucket WHERE product_id = %lld FOR UPDATE",
                (long long)product);
    return holder;
}

static int64_t stock_of(struct server *server, const char *target)
{
    struct http_reply reply = server_call(server, "GET", target, NULL, NULL);
    int64_t stock = http_reply_int(&reply, "stock");

    http_reply_fini(&reply);
    return stock;
}

static struct buy buy_by(const char *strategy, int64_t user, int64_t quantity)
{
    return (struct buy){
        .strategy = strategy, .product = product, .user = user, .quantity = quantity};
}

static void expect(const char *strategy, int64_t quantity, int status, const char *code)
{
    static int64_t users;
    struct buy buy = buy_by(strategy, ++users, quantity);

    shop_expect_buy(servers[users % 2], &buy, status, code, NULL);
}

TEST(fragments_are_sold)
{
    shop_put(servers[0], product, 20, NULL);
    assert_int_equal(rows(), 0);
    expect("buckets", 1, 201, "");
    assert_int_equal(rows(), BUCKETS);
    assert_int_equal(row_stock(), 0);
    expect("buckets", 10, 201, ""); /* of three in the fullest */
    expect("buckets", 10, 409, "sold_out");
    expect("buckets", 9, 201, "");
    expect("buckets", 1, 409, "sold_out");
    witness_expect_exact(witness, product);
    assert_int_equal(witness_sale(witness, product).sold, 20);
}

/* With a key the order is a transaction, and takes the same ways. */
TEST(a_key_takes_from_several)
{
    struct buy buy = buy_by("buckets", 1, 10);

    shop_put(servers[0], product, 20, NULL);
    expect("buckets", 1, 201, "");
    buy.key = "several";
    shop_expect_buy(servers[0], &buy, 201, "", NULL);
    shop_expect_buy(servers[1], &buy, 200, "", NULL);
    buy.key = "more";
    shop_expect_buy(servers[1], &buy, 409, "sold_out", NULL);
    buy.quantity = 9;
    shop_expect_buy(servers[0], &buy, 201, "", NULL);
    witness_expect_exact(witness, product);
}

/* Every one of these can be served, so none may hear "sold out", whatever the others do meanwhile.
 */
TEST(nobody_is_refused_what_is_there)
{
    enum { BUYERS = 30, QUANTITY = 3, STOCK = BUYERS * QUANTITY };

    for (int round = 0; round < 5; round++) {
        shop_put(servers[0], product, STOCK, NULL);
        struct crowd *crowd = crowd_create();
        for (int i = 0; i < BUYERS; i++) {
            struct buy buy = buy_by("buckets", 1000 + i, QUANTITY);
            shop_crowd_buy(crowd, servers[i % 2], &buy);
        }
        crowd_finish(crowd, PATIENCE_US);
        if (crowd_count(crowd, 201, "") != BUYERS)
            fail_msg("%s", crowd_summary(crowd));
        crowd_destroy(crowd);
        witness_expect_exact(witness, product);
        assert_int_equal(witness_sale(witness, product).stock, 0);
    }
}

TEST(the_others_fold_them_back)
{
    static const char *const others[] = {"pessimistic",  "optimistic", "conditional",
                                         "serializable", "batch",      "redis-queue"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        shop_put(servers[0], product, 20, NULL);
        expect("buckets", 1, 201, "");
        expect(others[i], 2, 201, "");
        assert_int_equal(rows(), 0);
        assert_int_equal(row_stock(), 17);
        expect("buckets", 1, 201, "");
        assert_int_equal(rows(), BUCKETS);
        expect(others[i], 17, 409, "sold_out");
        expect(others[i], 16, 201, "");
        expect("buckets", 1, 409, "sold_out");
        witness_expect_exact(witness, product);
    }
}

/* Both servers have seen the row without a unit, when it had no buckets. */
TEST(who_looks_first_sees_the_buckets)
{
    static const char *const others[] = {"batch", "redis-queue"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct buy restock = buy_by("pessimistic", 0, 20);
        shop_put(servers[0], product, 2, NULL);
        expect(others[i], 1, 201, "");
        expect(others[i], 1, 201, "");
        expect(others[i], 1, 409, "sold_out");
        expect(others[i], 1, 409, "sold_out");
        shop_expect_restock(servers[0], &restock, 200, "");
        expect("buckets", 1, 201, "");
        assert_int_equal(row_stock(), 0);
        expect(others[i], 1, 201, "");
        witness_expect_exact(witness, product);
    }
}

TEST(they_mix_in_a_crowd)
{
    static const char *const mixed[] = {"buckets", "conditional", "pessimistic", "optimistic",
                                        "buckets", "batch",       "redis-queue", "serializable"};
    enum { BUYERS = 120, STOCK = 90 };

    shop_put(servers[0], product, STOCK, ", \"limit_per_user\": 1");
    struct crowd *crowd = crowd_create();
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = buy_by(mixed[i % 8], 1 + i, 1);
        buy.more = "&wait_ms=30000";
        shop_crowd_buy(crowd, servers[i % 2], &buy);
    }
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 201, "") != STOCK ||
        crowd_count(crowd, 409, "sold_out") != BUYERS - STOCK)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    witness_expect_exact(witness, product);
    shop_expect_consistent(servers[0], product);
}

TEST(reads_count_row_and_buckets)
{
    char target[64];

    shop_put(servers[0], product, 20, NULL);
    expect("buckets", 1, 201, "");
    struct buy restock = buy_by("pessimistic", 0, 5);
    shop_expect_restock(servers[1], &restock, 200, ""); /* into the row */
    assert_int_equal(row_stock(), 5);
    snprintf(target, sizeof target, "/products/%lld", (long long)product);
    assert_int_equal(stock_of(servers[0], target), 24);
    snprintf(target, sizeof target, "/products/%lld/audit", (long long)product);
    assert_int_equal(stock_of(servers[0], target), 24);
    snprintf(target, sizeof target, "/products?limit=1&after=%lld", (long long)product - 1);
    struct http_reply reply = server_call(servers[0], "GET", target, NULL, NULL);
    assert_int_equal(http_reply_int(&reply, "products.0.stock"), 24);
    http_reply_fini(&reply);
    expect("buckets", 24, 201, ""); /* which is how the row's five come to the buckets */
    expect("buckets", 1, 409, "sold_out");
    witness_expect_exact(witness, product);
}

TEST(restocks_and_cancels_come_back)
{
    char id[SHOP_ID_SIZE];
    struct buy all = buy_by("buckets", 1, 6);
    struct buy restock = buy_by("buckets", 0, 5);

    shop_put(servers[0], product, 6, ", \"limit_per_user\": 7");
    shop_expect_buy(servers[0], &all, 201, "", id);
    shop_expect_restock(servers[1], &restock, 200, "");
    assert_int_equal(row_stock(), 5);
    assert_int_equal(witness_sale(witness, product).stock, 5);
    struct crowd *crowd = crowd_create();
    for (int i = 0; i < 12; i++)
        shop_crowd_cancel(crowd, servers[i % 2], id);
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 200, ""), 12);
    crowd_destroy(crowd);
    assert_int_equal(row_stock(), 5);
    assert_int_equal(witness_sale(witness, product).stock, 11);
    all.quantity = 7; /* more than any row has: gathers */
    shop_expect_buy(servers[0], &all, 201, "", id);
    assert_int_equal(row_stock(), 0);
    expect("conditional", 4, 201, ""); /* folds */
    crowd = crowd_create();
    for (int i = 0; i < 12; i++)
        shop_crowd_cancel(crowd, servers[i % 2], id);
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 200, ""), 12);
    crowd_destroy(crowd);
    assert_int_equal(row_stock(), 7);
    witness_expect_exact(witness, product);
}

/* Sends a cancel, and waits until `blocked` sessions stand before a lock in statements like this.
 */
static struct crowd *begin_cancel(struct server *server, const char *id, const char *statement,
                                  int64_t blocked)
{
    struct crowd *crowd = crowd_create();

    shop_crowd_cancel(crowd, server, id);
    crowd_send(crowd);
    T_UNTIL(witness_number(witness,
                           "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                           " AND query LIKE '%s%%' AND datname = current_database()",
                           statement) >= blocked);
    return crowd;
}

/* The buckets go and come again while the first one waits for them: so it adds to the product's
 * row, and the second to a bucket, and they meet on what the user holds. */
TEST(two_cancels_give_back_once)
{
    char id[SHOP_ID_SIZE];
    struct buy buy = buy_by("buckets", 1, 3);
    struct witness *folding = witness_open(conninfo);
    struct witness *holder = witness_open(conninfo);

    shop_put(servers[0], product, 50, ", \"limit_per_user\": 5");
    shop_expect_buy(servers[0], &buy, 201, "", id);
    witness_run(holder, "BEGIN");
    witness_run(holder, "SELECT 1 FROM purchase WHERE product_id = %lld FOR UPDATE",
                (long long)product);
    witness_run(folding, "BEGIN");
    witness_run(folding, "CREATE TEMP TABLE was AS SELECT * FROM bucket WHERE product_id = %lld",
                (long long)product);
    witness_run(folding, "DELETE FROM bucket WHERE product_id = %lld", (long long)product);
    struct crowd *first = begin_cancel(servers[0], id, "UPDATE seckill.bucket", 1);
    witness_run(folding, "INSERT INTO bucket SELECT * FROM was");
    witness_run(folding, "COMMIT");
    struct crowd *second = begin_cancel(servers[1], id, "WITH counted", 2);
    witness_release(holder);
    crowd_finish(first, PATIENCE_US);
    crowd_finish(second, PATIENCE_US);
    for (int i = 0; i < 2; i++)
        if (crowd_count(i ? second : first, 200, "") != 1)
            fail_msg("%s: %s", i ? "second" : "first", crowd_summary(i ? second : first));
    crowd_destroy(first);
    crowd_destroy(second);
    witness_close(folding);
    assert_int_equal(witness_sale(witness, product).stock, 50);
    witness_expect_exact(witness, product);
    buy.quantity = 5; /* the whole of the limit is the user's again */
    shop_expect_buy(servers[1], &buy, 201, "", NULL);
    buy.quantity = 1;
    shop_expect_buy(servers[1], &buy, 409, "limit_reached", NULL);
}

TEST(a_put_ends_them)
{
    shop_put(servers[0], product, 20, NULL);
    expect("buckets", 1, 201, "");
    shop_put(servers[0], product, 3, NULL);
    assert_int_equal(rows(), 0);
    assert_int_equal(witness_sale(witness, product).stock, 3);
    expect("buckets", 4, 409, "sold_out");
    expect("buckets", 3, 201, "");
    expect("buckets", 1, 409, "sold_out");
    witness_expect_exact(witness, product);
}

/* An order that waits for a bucket has read the product's row: a PATCH is not in force before it.
 */
TEST(a_patch_waits_for_who_holds_one)
{
    struct buy buy = buy_by("buckets", 1, 1);
    struct crowd *crowd = crowd_create();
    char target[64];

    shop_put(servers[0], product, 20, NULL);
    expect("buckets", 1, 201, "");
    struct witness *holder = hold_buckets();
    shop_crowd_buy(crowd, servers[0], &buy);
    crowd_send(crowd);
    witness_wait_blocked(witness, 1);
    snprintf(target, sizeof target, "/products/%lld", (long long)product);
    crowd_add(crowd, servers[1], "PATCH", target, NULL, "{\"hold_s\": 60}");
    crowd_send(crowd);
    while (witness_blocked(witness) < 2)
        assert_false(crowd_wait(crowd, 1, clock_mono_us() + 2000));
    witness_release(holder);
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 201, "") != 1 || crowd_count(crowd, 200, "") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    int64_t before = witness_sale(witness, product).pending;
    expect("buckets", 1, 201, "");
    assert_int_equal(witness_sale(witness, product).pending, before + 1);
    witness_expect_exact(witness, product);
}

/* An order of the old sale that waits for a bucket when the PUT comes: the PUT waits, too, and the
 * order is sold before it, in the old sale, or after it, in the new one; never in between. */
TEST(a_put_waits_for_who_holds_one)
{
    struct buy buy = buy_by("buckets", 1, 1);
    struct crowd *crowd = crowd_create();
    char target[64];

    shop_put(servers[0], product, 20, ", \"limit_per_user\": 1");
    expect("buckets", 1, 201, "");
    struct witness *holder = hold_buckets();
    shop_crowd_buy(crowd, servers[0], &buy);
    snprintf(target, sizeof target, "/products/%lld", (long long)product);
    crowd_add(crowd, servers[1], "PUT", target, NULL, "{\"stock\": 5, \"limit_per_user\": 1}");
    crowd_send(crowd);
    witness_wait_blocked(witness, 2);
    assert_false(crowd_wait(crowd, 1, clock_mono_us() + 100000));
    witness_release(holder);
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 201, "") != 1 || crowd_count(crowd, 200, "") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    witness_expect_exact(witness, product);
}

/* Late is what comes near the work's allowance, which is two minutes. */
TEST(a_wait_for_a_bucket_ends)
{
    enum { WAIT_US = 400000, LATE_US = 20000000 };
    struct buy buy = buy_by("buckets", 1, 1);
    struct crowd *crowd = crowd_create();

    shop_put(servers[0], product, 20, NULL);
    expect("buckets", 1, 201, "");
    struct witness *holder = hold_buckets();
    buy.more = "&wait_ms=0";
    shop_crowd_buy(crowd, servers[0], &buy);
    crowd_finish(crowd, PATIENCE_US);
    buy.more = "&wait_ms=400";
    shop_crowd_buy(crowd, servers[1], &buy);
    crowd_finish(crowd, PATIENCE_US);
    witness_release(holder);
    if (crowd_count(crowd, 503, "wait_timeout") != 2)
        fail_msg("%s", crowd_summary(crowd));
    assert_true(crowd_at(crowd, 0)->took_us < LATE_US);
    assert_in_range(crowd_at(crowd, 1)->took_us, WAIT_US, WAIT_US + LATE_US);
    crowd_destroy(crowd);
    witness_expect_exact(witness, product);
}

static int next_product(void **state)
{
    (void)state;
    product++;
    return 0;
}

TEST_EACH(next_product, NULL)

int main(void)
{
    conninfo = stack_database_create("seckill_buckets");

    server_use_database(conninfo);
    for (int i = 0; i < 2; i++)
        servers[i] = server_start("--lock-wait-ms", "60000", "--work-timeout-ms", "120000",
                                  "--lock-ttl-ms", "180000");
    witness = witness_open(conninfo);
    int failed = t_run_all(NULL, NULL);
    witness_close(witness);
    for (int i = 0; i < 2 && !failed; i++)
        server_stop(servers[i]);
    server_teardown(NULL);
    stack_database_drop("seckill_buckets");
    free(conninfo);
    return failed != 0;
}
