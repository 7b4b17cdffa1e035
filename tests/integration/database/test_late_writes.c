/*
 * A write that comes late: it is held back on its way to PostgreSQL (lib/pg_proxy.h) while another
 * instance sells the same stock, or a PUT begins the next sale. No race has to be won.
 *
 * Either the other one has to wait, or the late write finds that it was late; what both decided on
 * is never sold twice, and nothing of an old sale reaches the new one.
 */
#include "lib/fixtures/proxied.h"
#include "lib/fixtures/shop.h"
#include "lib/redis/redis_probe.h"
#include "lib/stack.h"
#include "lib/t.h"

#include "base/clock.h"

#include <stdio.h>
#include <unistd.h>

enum { PATIENCE_US = 60000000, OLD_STOCK = 10, NEW_STOCK = 40 };

enum what { BUY, BUY_KEYED, CANCEL };

static struct {
    struct proxied db;
    int64_t product;
} here;

static int start(void **state)
{
    (void)state;
    proxied_open(&here.db, "seckill_late_writes");
    server_use_database(here.db.conninfo);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    proxied_close(&here.db);
    return 0;
}

/* The other one has been answered, or stands in line for a lock of PostgreSQL's. */
static void wait_for_other(struct crowd *other)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;

    while (!crowd_wait(other, 1, clock_mono_us()) && witness_blocked(here.db.witness) == 0) {
        assert_true(clock_mono_us() < until_us);
        clock_sleep_until(clock_mono_us() + 2000);
    }
}

static struct crowd *begin_buy(struct server *server, const struct buy *buy)
{
    struct crowd *crowd = crowd_create();

    shop_crowd_buy(crowd, server, buy);
    crowd_send(crowd);
    return crowd;
}

/* A server whose orders have time enough for what the test does meanwhile. */
static struct server *start_patient(const char *conninfo)
{
    return server_start("--database", conninfo, "--work-timeout-ms", "60000", "--lock-ttl-ms",
                        "90000", "--lock-wait-ms", "60000", "--buckets", "4");
}

/* With an Idempotency-Key the statements go one by one. */
#define IN_STEPS "late"

/* There is one unit. The first has decided on it, and its `statement` is held back. */
static void sell_one_unit(const char *strategy, const char *key, const char *statement,
                          const char *rival)
{
    struct server *late = start_patient(here.db.through);
    struct server *other = start_patient(here.db.conninfo);
    int64_t product = ++here.product;
    struct buy buy = {.strategy = strategy, .product = product, .user = product, .key = key};
    struct buy beside = {.strategy = rival, .product = product, .user = product + 1000};

    shop_put(other, here.product, 1, NULL);
    pg_proxy_arm(here.db.proxy, statement, PG_FAULT_HOLD);
    struct crowd *first = begin_buy(late, &buy);
    pg_proxy_wait_fault(here.db.proxy);
    struct crowd *second = begin_buy(other, &beside);
    wait_for_other(second);
    pg_proxy_release(here.db.proxy);
    crowd_finish(first, PATIENCE_US);
    crowd_finish(second, PATIENCE_US);
    assert_int_equal(crowd_count(first, 201, "") + crowd_count(second, 201, ""), 1);
    assert_int_equal(crowd_count(first, 409, "sold_out") + crowd_count(second, 409, "sold_out"), 1);
    crowd_destroy(first);
    crowd_destroy(second);
    assert_int_equal(witness_sale(here.db.witness, here.product).orders, 1);
    witness_expect_exact(here.db.witness, here.product);
    server_stop(late);
    server_stop(other);
}

TEST(pessimistic_holds_its_row)
{
    sell_one_unit("pessimistic", IN_STEPS, "stock_set", "conditional");
}

TEST(optimistic_sees_that_it_is_late)
{
    sell_one_unit("optimistic", NULL, "optimistic_buy", "conditional");
    sell_one_unit("optimistic", IN_STEPS, "stock_set_if_version", "conditional");
}

TEST(serializable_sees_that_it_is_late)
{
    sell_one_unit("serializable", IN_STEPS, "stock_set", "conditional");
}

TEST(advisory_lock_keeps_its_own_apart)
{
    sell_one_unit("advisory-lock", IN_STEPS, "stock_set", "advisory-lock");
}

TEST(batch_holds_its_rows)
{
    sell_one_unit("batch", IN_STEPS, "batch_keys", "conditional");
}

/* The first one has seen that there is something to cancel, and comes late. */
TEST(of_two_cancels_one_returns_the_units)
{
    struct server *late = start_patient(here.db.through);
    struct server *other = start_patient(here.db.conninfo);
    struct crowd *crowd = crowd_create();
    char id[SHOP_ID_SIZE];
    char target[96];
    struct buy buy = {
        .strategy = "conditional", .product = ++here.product, .user = 1, .quantity = 3};

    shop_put(other, here.product, 3, ", \"limit_per_user\": 3");
    shop_expect_buy(other, &buy, 201, "", id);
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    shop_crowd_cancel(crowd, late, id);
    pg_proxy_arm(here.db.proxy, "stock_return", PG_FAULT_HOLD);
    crowd_send(crowd);
    pg_proxy_wait_fault(here.db.proxy);
    shop_expect(other, "POST", target, NULL, NULL, 200, "");
    pg_proxy_release(here.db.proxy);
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 200, "") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    assert_int_equal(witness_sale(here.db.witness, here.product).stock, 3);
    witness_expect_exact(here.db.witness, here.product);
    server_stop(late);
    server_stop(other);
}

/* Its process is stopped with the row in its hand: PostgreSQL ends the session, and the row is
 * free. */
TEST(a_stopped_client_loses_its_row)
{
    struct server *late = server_start("--work-ms", "4000", "--work-timeout-ms", "5000");
    struct server *other = server_start(NULL);
    struct buy buy = {.strategy = "pessimistic", .product = ++here.product, .user = 1};

    shop_put(other, here.product, 1, NULL);
    struct crowd *first = begin_buy(late, &buy);
    T_UNTIL(
        witness_number(here.db.witness,
                       "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
                       " AND query LIKE '%%FOR UPDATE%%' AND datname = current_database()") != 0);
    server_pause(late);
    buy.user = 2;
    buy.more = "&wait_ms=20000";
    shop_expect_buy(other, &buy, 201, "", NULL);
    server_resume(late);
    crowd_finish(first, PATIENCE_US);
    assert_int_equal(crowd_count(first, 201, ""), 0);
    crowd_destroy(first);
    witness_expect_exact(here.db.witness, here.product);
    server_stop(late);
    server_stop(other);
}

/* More is asked for than any bucket has: all are locked, added up and filled anew. */
TEST(buckets_are_locked_while_they_are_filled)
{
    struct server *late = start_patient(here.db.through);
    struct server *other = start_patient(here.db.conninfo);
    struct buy buy = {.strategy = "buckets", .product = ++here.product, .user = 1};

    shop_put(other, here.product, 17, NULL);
    shop_expect_buy(other, &buy, 201, "", NULL);
    buy.quantity = 9;
    pg_proxy_arm(here.db.proxy, "bucket_spread", PG_FAULT_HOLD);
    struct crowd *first = begin_buy(late, &buy);
    pg_proxy_wait_fault(here.db.proxy);
    buy.quantity = 1;
    struct crowd *second = begin_buy(other, &buy);
    wait_for_other(second);
    pg_proxy_release(here.db.proxy);
    crowd_finish(first, PATIENCE_US);
    crowd_finish(second, PATIENCE_US);
    assert_int_equal(crowd_count(first, 201, "") + crowd_count(second, 201, ""), 2);
    crowd_destroy(first);
    crowd_destroy(second);
    witness_expect_exact(here.db.witness, here.product);
    server_stop(late);
    server_stop(other);
}

/* `statement`: what the strategy writes the stock with. */
static void meet_the_next_sale(const char *strategy, const char *statement, enum what what)
{
    struct server *late = start_patient(here.db.through);
    struct server *other = start_patient(here.db.conninfo);
    struct buy buy = {.strategy = strategy, .product = ++here.product, .user = 1};
    struct crowd *crowd = crowd_create();
    char id[SHOP_ID_SIZE];

    shop_put(other, here.product, OLD_STOCK, NULL);
    shop_expect_buy(other, &buy, 201, "", id);
    buy.key = what == BUY_KEYED ? statement : NULL;
    /* Keeps the old sale's rows from the purge, not from a cancel. */
    struct witness *holder = witness_open(here.db.conninfo);
    witness_run(holder, "BEGIN");
    witness_number(holder, "SELECT 1 FROM orders WHERE product_id = %lld FOR KEY SHARE",
                   (long long)here.product);
    if (what == CANCEL)
        shop_crowd_cancel(crowd, late, id);
    else
        shop_crowd_buy(crowd, late, &buy);
    pg_proxy_arm(here.db.proxy, statement, PG_FAULT_HOLD);
    crowd_send(crowd);
    pg_proxy_wait_fault(here.db.proxy);
    shop_put(other, here.product, NEW_STOCK, NULL);
    pg_proxy_release(here.db.proxy);
    crowd_finish(crowd, PATIENCE_US);
    witness_release(holder);
    if (crowd_count(crowd, what == CANCEL ? 404 : 201, what == CANCEL ? "not_found" : "") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    struct sale sale = witness_sale(here.db.witness, here.product);
    assert_int_equal(sale.orders, what != CANCEL);
    assert_int_equal(sale.stock, NEW_STOCK - sale.orders);
    witness_expect_exact(here.db.witness, here.product);
    server_stop(late);
    server_stop(other);
}

TEST(a_plain_figure_misses_the_next_sale)
{
    meet_the_next_sale("local-lock", "order_insert_sold", BUY);
    meet_the_next_sale("local-lock", "stock_set", BUY_KEYED);
}

TEST(a_fenced_figure_misses_the_next_sale)
{
    meet_the_next_sale("redis-fenced", "order_insert_sold", BUY);
    meet_the_next_sale("redis-fenced", "stock_set_fenced", BUY_KEYED);
}

/* Redis forgets the lock of a holder that has read the stock, and the next holder sells it. */
static void write_under_a_stale_fence(const char *key, const char *statement)
{
    struct server *late = start_patient(here.db.through);
    struct server *other = start_patient(here.db.conninfo);
    struct buy buy = {.strategy = "redis-fenced", .product = ++here.product, .user = 1, .key = key};

    shop_put(other, here.product, 1, NULL);
    pg_proxy_arm(here.db.proxy, statement, PG_FAULT_HOLD);
    struct crowd *first = begin_buy(late, &buy);
    pg_proxy_wait_fault(here.db.proxy);
    redis_probe(NULL, 0, "FLUSHALL");
    buy.user = 2;
    shop_expect_buy(other, &buy, 201, "", NULL);
    pg_proxy_release(here.db.proxy);
    crowd_finish(first, PATIENCE_US);
    if (crowd_count(first, 503, "lease_lost") != 1)
        fail_msg("%s", crowd_summary(first));
    crowd_destroy(first);
    assert_int_equal(witness_sale(here.db.witness, here.product).orders, 1);
    witness_expect_exact(here.db.witness, here.product);
    server_stop(late);
    server_stop(other);
}

TEST(a_stale_fence_writes_no_figure)
{
    write_under_a_stale_fence(NULL, "order_insert_sold");
    write_under_a_stale_fence(IN_STEPS, "stock_set_fenced");
}

TEST(a_version_is_of_one_sale)
{
    meet_the_next_sale("optimistic", "optimistic_buy", BUY);
}

TEST(a_cancel_misses_the_next_sale)
{
    meet_the_next_sale("conditional", "stock_return", CANCEL);
}

TEST(a_fenced_cancel_misses_the_next_sale)
{
    meet_the_next_sale("redis-queue", "stock_return_fenced", CANCEL);
}

/* A strategy whose statement is all of an order. */
struct lone {
    const char *strategy;
    const char *body;
    const char *statement;
    const char *beside; /* the strategy of the next sale's buyer; NULL: pessimistic */
};

/* The order was settled as not done; then its sale ended, and the purge has deleted all of it, the
 * tombstone too. Only now its statement comes to PostgreSQL, whose client is long gone. */
static void come_after_the_purge(const struct lone *lone)
{
    char system[32]; /* no other program's messages come to this one's queues */
    snprintf(system, sizeof system, "late-%d", (int)getpid());
    struct server *late = server_start("--database", here.db.through, "--system-name", system);
    struct server *other = server_start("--system-name", system);
    struct buy buy = {.strategy = lone->strategy,
                      .body = lone->body,
                      .product = ++here.product,
                      .user = 1,
                      .more = "&wait_ms=30000"};
    struct crowd *crowd = crowd_create();

    shop_put(other, here.product, OLD_STOCK, NULL);
    for (int i = 0; i < 2; i++) /* the second time as the statement prepares it */
        shop_expect_buy(late, &buy, 201, "", NULL);
    buy.user = 2;
    shop_crowd_buy(crowd, late, &buy);
    pg_proxy_arm(here.db.proxy, lone->statement, PG_FAULT_DELAY);
    crowd_answers(crowd, PATIENCE_US);
    if (crowd_count(crowd, 503, "backend_unavailable") != 1)
        fail_msg("%s: %s", lone->strategy, crowd_summary(crowd));
    crowd_destroy(crowd);
    pg_proxy_wait_fault(here.db.proxy);
    assert_int_equal(witness_number(here.db.witness,
                                    "SELECT count(*) FROM orders WHERE product_id = %lld"
                                    " AND status = 3",
                                    (long long)here.product),
                     1);
    shop_put(other, here.product, NEW_STOCK, NULL);
    T_UNTIL(witness_number(here.db.witness,
                           "SELECT (SELECT count(*) FROM retired)"
                           " + (SELECT count(*) FROM orders WHERE product_id = %lld)",
                           (long long)here.product) == 0);
    struct buy beside = {.strategy = lone->beside ? lone->beside : "pessimistic",
                         .product = here.product,
                         .user = 3};
    shop_expect_buy(other, &beside, 201, "", NULL);
    pg_proxy_release(here.db.proxy);
    pg_proxy_wait_answered(here.db.proxy);
    assert_int_equal(witness_number(here.db.witness,
                                    "SELECT count(*) FROM orders WHERE product_id = %lld"
                                    " AND user_id = 2",
                                    (long long)here.product),
                     0);
    assert_int_equal(witness_sale(here.db.witness, here.product).sold, 1);
    /* What the process knows is out of date: it learns the new sale, and sells there. */
    for (buy.user = 4; buy.user <= 5; buy.user++)
        shop_expect_buy(late, &buy, 201, "", NULL);
    assert_int_equal(witness_sale(here.db.witness, here.product).sold, 3);
    witness_expect_exact(here.db.witness, here.product);
    server_stop(late);
    server_stop(other);
}

TEST(a_lone_statement_misses_the_next_sale)
{
    static const struct lone lone[] = {
        {.strategy = "conditional", .statement = "conditional_buy"},
        {.strategy = "local-lock", .body = "guarded", .statement = "conditional_buy"},
        {.strategy = "batch", .statement = "conditional_buy"},
        {.strategy = "optimistic", .statement = "optimistic_buy"},
        {.strategy = "buckets", .statement = "bucket_buy", .beside = "buckets"},
        {.strategy = "redis-queue", .statement = "batch_buy"},
    };

    for (size_t i = 0; i < sizeof lone / sizeof *lone; i++)
        come_after_the_purge(&lone[i]);
}

TEST(a_queued_row_misses_the_next_sale)
{
    static const struct lone lone = {.strategy = "partitioned-queue", .statement = "queue_insert"};

    if (!stack_amqp())
        skip();
    come_after_the_purge(&lone);
}

/* The reply to a payment's COMMIT is lost, or the COMMIT, or it comes late; PostgreSQL is there, or
 * away for longer than anybody may wait. The server looks up how the payment ended. */
TEST(a_payment_is_looked_into)
{
    static const enum pg_fault faults[] = {PG_FAULT_LOSE_REPLY, PG_FAULT_LOSE_REQUEST,
                                           PG_FAULT_DELAY, PG_FAULT_LOSE_REPLY};
    enum { LATE = 2, AWAY = 3 };
    server_use_database(here.db.through);
    struct server *server = /* with one session for look-ups */
        server_start("--pg-sessions", "7", "--amqp", "", "--lock-wait-ms", "500",
                     "--work-timeout-ms", "1500");

    for (int i = 0; i < (int)(sizeof faults / sizeof *faults); i++) {
        struct buy buy = {.strategy = "conditional",
                          .product = ++here.product,
                          .user = 1,
                          .more = "&wait_ms=30000",
                          .members = ", \"hold_s\": 600"};
        struct crowd *crowd = crowd_create();
        char id[SHOP_ID_SIZE];

        shop_put(server, here.product, OLD_STOCK, NULL);
        shop_expect_buy(server, &buy, 201, "", id);
        pg_proxy_refuse_after_fault(here.db.proxy, i == AWAY);
        pg_proxy_arm(here.db.proxy, "commit", faults[i]);
        shop_crowd_pay(crowd, server, id);
        crowd_send(crowd);
        pg_proxy_wait_fault(here.db.proxy);
        if (i == LATE) {
            witness_wait_blocked(here.db.witness, 1); /* it is waited for */
            pg_proxy_release(here.db.proxy);
        }
        crowd_answers(crowd, PATIENCE_US);
        if (crowd_count(crowd, i == AWAY ? 504 : 200, i == AWAY ? "outcome_unknown" : "") != 1)
            fail_msg("%d: %s", i, crowd_summary(crowd));
        crowd_destroy(crowd);
        pg_proxy_refuse_after_fault(here.db.proxy, false);
        assert_int_equal(witness_number(here.db.witness,
                                        "SELECT count(*) FROM order_change WHERE id = '%s'", id),
                         1);
        assert_int_equal(witness_sale(here.db.witness, here.product).sold, 1);
    }
    server_stop(server);
    server_use_database(here.db.conninfo);
}

/* Nothing of a call was done when its session ended under it: it is made again. */
TEST(a_call_whose_session_has_ended_is_made_again)
{
    enum { PRODUCT = 77 };
    static const struct {
        const char *statement, *method, *target, *body;
    } calls[] = {
        {"product_get", "GET", "/products/77", NULL},
        {"products_page", "GET", "/products", NULL},
        {"orders_page", "GET", "/orders", NULL},
        {"feed_page", "GET", "/orders/feed", NULL},
        {"audit", "GET", "/products/77/audit", NULL},
        {"product_put", "PUT", "/products/77", "{\"stock\": 7}"},
        {"retire", "PUT", "/products/77", "{\"stock\": 8}"},
        {"product_patch", "PATCH", "/products/77", "{\"name\": \"n\"}"},
        {"product_get", "POST", "/products/77/restock", "{\"quantity\": 1}"},
    };
    struct server *server = start_patient(here.db.through);

    shop_put(server, PRODUCT, OLD_STOCK, NULL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        pg_proxy_arm(here.db.proxy, calls[i].statement, PG_FAULT_LOSE_REQUEST);
        struct http_reply reply =
            server_call(server, calls[i].method, calls[i].target, NULL, calls[i].body);
        assert_true(pg_proxy_has_bitten(here.db.proxy));
        if (reply.status != 200)
            fail_msg("%s %s: %d", calls[i].method, calls[i].target, reply.status);
        http_reply_fini(&reply);
    }
    assert_int_equal(witness_sale(here.db.witness, PRODUCT).stock, 9);
    server_stop(server);
}

TEST_GROUP(start, stop)
TEST_EACH(NULL, server_teardown)
