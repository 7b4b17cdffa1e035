/*
 * Loading redis-stock's mirrors: loads that take long, fail, or need a row that somebody holds; and
 * the processes that may not load, so that no other product waits.
 */
#include "lib/fixtures/stock_cluster.h"

#include "base/clock.h"

#include <signal.h>
#include <string.h>

/* An order that will not wait. Its time is also over when no worker has come to it yet; then
 * nothing was done, and it is sent again. */
static struct http_reply send_hasty(const struct buy *buy)
{
    int64_t until_us = clock_mono_us() + CLUSTER_PATIENCE_US;

    for (;;) {
        char code[32];
        char phase[16] = "";
        struct http_reply reply = shop_send(cluster.servers[0], buy);
        http_reply_code(&reply, code, sizeof code);
        if (strcmp(code, "wait_timeout") == 0)
            http_reply_text(&reply, "phase", phase, sizeof phase);
        if (strcmp(phase, "queue") != 0 || clock_mono_us() >= until_us)
            return reply;
        http_reply_fini(&reply);
    }
}

/* PostgreSQL ends the session of a load that is slower still; then the next order has it made. */
static bool sells_after_a_load(void)
{
    struct buy buy = cluster_buy(2, 1);

    buy.more = "&wait_ms=0";
    cluster_redis("DEL @mirror:%lld", (long long)cluster.product);
    int64_t begun_us = clock_mono_us();
    struct http_reply reply = send_hasty(&buy);
    outcome_reply(cluster.servers[0], &reply);
    bool sold = reply.status == 201;
    if (!sold && reply.status != 503)
        fail_msg("%d: %s", reply.status, reply.body);
    http_reply_fini(&reply);
    if (sold)
        assert_true(clock_mono_us() - begun_us >= 1400000);
    return sold;
}

/* Loading takes longer than a buyer waits, and than work may take: as with a product that has a
 * limit and a great many holders. It is loaded all the same, and the buyer for whom it is loaded
 * buys. */
TEST(a_mirror_that_takes_long_to_load)
{
    cluster.product++;
    cluster_start("stock-loading=pause:700@2+,stock-loaded=pause:700@2+", NULL);
    shop_put(cluster.servers[0], cluster.product, 5, ", \"limit_per_user\": 3");
    struct buy buy = cluster_buy(1, 3);
    buy.strategy = "conditional";
    shop_expect_buy(cluster.servers[0], &buy, 201, "", NULL);
    T_UNTIL(sells_after_a_load());
    buy = cluster_buy(1, 1);
    shop_expect_buy(cluster.servers[0], &buy, 409, "limit_reached", NULL);
    cluster_expect_settled();
    cluster_stop_all();
}

/* The time that a load takes is no difference between PostgreSQL's clock and Redis's. */
TEST(a_load_that_takes_long_moves_no_window)
{
    enum { OPENS_S = 1577836800, LOAD_MS = 1500 };

    cluster.product++;
    struct server *server = cluster_start_working("stock-loaded=pause:1500@2", NULL, "60000");
    shop_put(server, cluster.product, 5, ", \"opens_at\": \"2020-01-01T00:00:00Z\"");
    cluster_redis("DEL @mirror:%lld", (long long)cluster.product);
    struct buy buy = cluster_buy(1, 1);
    cluster_accept(server, &buy, NULL);
    assert_true(server_says(server, "failpoint stock-loaded: pause"));
    int64_t opens_us = cluster_redis("HGET @mirror:%lld opens", (long long)cluster.product);
    assert_in_range(opens_us / 1000 + LOAD_MS / 2, OPENS_S * INT64_C(1000),
                    OPENS_S * INT64_C(1000) + LOAD_MS);
    cluster_expect_settled();
    cluster_stop_all();
}

/* A load stands in line for the row behind an order that spreads the stock over buckets. */
TEST(a_load_sees_buckets_made_while_it_waited)
{
    struct crowd *crowd = crowd_create();

    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 5, NULL);
    cluster_redis("DEL @mirror:%lld", (long long)cluster.product);
    struct witness *holder = cluster_hold();
    struct buy buy = cluster_buy(1, 1);
    buy.strategy = "buckets";
    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    witness_wait_blocked(cluster.witness, 1);
    buy = cluster_buy(2, 1);
    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    witness_wait_blocked(cluster.witness, 2);
    witness_release(holder);
    crowd_finish(crowd, CLUSTER_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 409, NULL), 0);
    crowd_destroy(crowd);
    cluster_expect_settled();
    cluster_stop_all();
}

static int64_t count_users(void)
{
    return cluster_redis("EVAL return~#redis.call('KEYS',ARGV[1]) 0 @users:*");
}

static int all_is_allowed(void **state)
{
    cluster_redis("ACL SETUSER default allcommands");
    return cluster_teardown(state);
}

/* What a load has sent before it failed is deleted. */
TEST_WITH(a_load_that_fails_leaves_nothing, NULL, all_is_allowed)
{
    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, 5, ", \"limit_per_user\": 3");
    struct buy buy = cluster_buy(1, 3);
    buy.strategy = "conditional";
    shop_expect_buy(cluster.servers[0], &buy, 201, "", NULL);
    cluster_redis("DEL @mirror:%lld", (long long)cluster.product);
    cluster_redis("ACL SETUSER default -persist");
    buy = cluster_buy(2, 1);
    struct http_reply reply = shop_send(cluster.servers[0], &buy);
    assert_int_equal(reply.status, 503);
    http_reply_fini(&reply);
    assert_int_equal(count_users(), 0);
    cluster_redis("ACL SETUSER default allcommands");
    shop_expect_buy_soon(cluster.servers[0], &buy, 201);
    assert_int_equal(count_users(), 1);
    cluster_expect_settled();
    cluster_stop_all();
}

/* A product with a limit, of which user 1 holds some, and no mirror; the next load is the second.
 */
static void begin_unloaded(const char *failpoints, const char *work_ms)
{
    cluster.product++;
    cluster_start_working(failpoints, NULL, work_ms);
    shop_put(cluster.servers[0], cluster.product, 5, ", \"limit_per_user\": 3");
    struct buy buy = cluster_buy(1, 3);
    buy.strategy = "conditional";
    shop_expect_buy(cluster.servers[0], &buy, 201, "", NULL);
    cluster_redis("DEL @mirror:%lld", (long long)cluster.product);
}

static bool is_loaded(void)
{
    return cluster_redis("EXISTS @mirror:%lld", (long long)cluster.product) == 1;
}

/* There is no mirror and nothing of its users; the next order loads all of it. */
static void expect_unloaded(void)
{
    assert_false(is_loaded());
    assert_int_equal(count_users(), 0);
    struct buy buy = cluster_buy(2, 1);
    shop_expect_buy_soon(cluster.servers[0], &buy, 201);
    buy = cluster_buy(1, 1);
    shop_expect_buy(cluster.servers[0], &buy, 409, "limit_reached", NULL);
    cluster_expect_settled();
    cluster_stop_all();
}

/* The row is no longer locked, so somebody may have sold from it: no mirror is made of what was
 * read. */
TEST(a_load_whose_session_is_ended)
{
    struct crowd *crowd = crowd_create();

    begin_unloaded("stock-loaded=hold@2", "60000");
    struct buy buy = cluster_buy(2, 1);
    shop_crowd_buy(crowd, cluster.servers[0], &buy);
    crowd_send(crowd);
    T_UNTIL(server_says(cluster.servers[0], "failpoint stock-loaded: hold"));
    assert_int_equal(witness_number(cluster.witness,
                                    "SELECT count(pg_terminate_backend(pid, 10000))"
                                    " FROM pg_stat_activity WHERE datname = current_database()"
                                    " AND state = 'idle in transaction'"
                                    " AND query LIKE 'SELECT user_id, units%%'"),
                     1);
    server_let_go(cluster.servers[0]);
    crowd_answers(crowd, CLUSTER_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 503, "backend_unavailable"), 1);
    crowd_destroy(crowd);
    expect_unloaded();
}

/* The mirror may be there, and its users are about to be deleted: so it is deleted first. */
TEST(a_load_whose_answer_is_lost)
{
    begin_unloaded("stock-load-reply=fail@2", "1000");
    struct buy buy = cluster_buy(2, 1);
    struct http_reply reply = shop_send(cluster.servers[0], &buy);
    assert_int_equal(reply.status, 503);
    http_reply_fini(&reply);
    expect_unloaded();
}

static void expect_hasty(const struct buy *buy, const char *expected)
{
    char code[32];
    struct http_reply reply = send_hasty(buy);

    http_reply_code(&reply, code, sizeof code);
    assert_string_equal(code, expected);
    http_reply_fini(&reply);
}

/* The order's time (a wait of 0, two seconds' work, two for settling) ends before the load does: it
 * is answered, and the mirror is loaded by the loader, without another order. */
TEST(a_load_that_is_longer_than_an_order_may_take)
{
    begin_unloaded("stock-reserved=pause:1200,stock-loading=pause:1700@2,stock-loaded=pause:1700@2",
                   "2000");
    struct buy buy = cluster_buy(2, 1);
    buy.more = "&wait_ms=0";
    struct http_reply reply = send_hasty(&buy);
    if (reply.status != 503)
        fail_msg("%d: %s", reply.status, reply.body);
    http_reply_fini(&reply);
    T_UNTIL(is_loaded());
    assert_int_equal(count_users(), 1);
    buy.more = NULL;
    shop_expect_buy(cluster.servers[0], &buy, 201, "", NULL);
    buy = cluster_buy(1, 1);
    shop_expect_buy(cluster.servers[0], &buy, 409, "limit_reached", NULL);
    cluster_expect_settled();
    cluster_stop_all();
}

/* The load succeeds when the order's time is over: the order is refused, and the next one finds the
 * mirror. */
TEST(a_load_that_ends_after_the_orders_time)
{
    begin_unloaded("stock-load-reply=pause:3500@2", "1000");
    struct buy buy = cluster_buy(2, 1);
    buy.more = "&wait_ms=0";
    expect_hasty(&buy, "backend_unavailable");
    assert_true(is_loaded());
    buy.more = NULL;
    shop_expect_buy(cluster.servers[0], &buy, 201, "", NULL);
    buy = cluster_buy(1, 1);
    shop_expect_buy(cluster.servers[0], &buy, 409, "limit_reached", NULL);
    cluster_expect_settled();
    cluster_stop_all();
}

/* Each is decided while the mirror of the cluster's product is to be loaded. */
static void buy_others(int count)
{
    char id[SHOP_ID_SIZE];

    for (int i = 0; i < count; i++) {
        struct buy other = cluster_buy(1 + i, 1);
        other.product = CLUSTER_OTHER_PRODUCT;
        cluster_accept(cluster.servers[0], &other, id);
        cluster_wait_status(cluster.servers[0], id, "confirmed");
    }
}

/* Until it is loaded, orders leave the row to the loader, and wait; others are sold. */
TEST(a_load_that_is_left_to_the_loader)
{
    enum { OTHERS = 5 };

    begin_unloaded("stock-loading=pause:3100@3,stock-loading=hold@4", "1000");
    shop_put(cluster.servers[0], CLUSTER_OTHER_PRODUCT, OTHERS, NULL);
    struct buy buy = cluster_buy(2, 1);
    buy.more = "&wait_ms=0";
    expect_hasty(&buy, "backend_unavailable");
    T_UNTIL(server_says(cluster.servers[0], "failpoint stock-loading: hold"));
    shop_expect_buy(cluster.servers[0], &buy, 503, "wait_timeout", NULL);
    buy_others(OTHERS);
    server_let_go(cluster.servers[0]);
    buy.more = NULL;
    shop_expect_buy(cluster.servers[0], &buy, 201, "", NULL);
    cluster_expect_settled();
    cluster_stop_all();
}

/* The row that is needed for it is held: it is tried again and again, and nobody has to ask. */
TEST(a_load_whose_row_is_held_is_in_nobody_elses_way)
{
    enum { OTHERS = 5, WORK_US = 1000000, LOOK_US = 5000 };
    struct crowd *crowd = crowd_create();

    begin_unloaded("stock-loading=pause:3100@3", "1000");
    shop_put(cluster.servers[0], CLUSTER_OTHER_PRODUCT, OTHERS, NULL);
    struct buy buy = cluster_buy(2, 1);
    buy.more = "&wait_ms=0";
    int64_t until_us = clock_mono_us() + CLUSTER_PATIENCE_US;
    do { /* until one comes to a worker in its time */
        assert_true(clock_mono_us() < until_us);
        shop_crowd_buy(crowd, cluster.servers[0], &buy);
        crowd_send(crowd);
        while (!server_says(cluster.servers[0], "failpoint stock-loading: pause") &&
               !crowd_wait(crowd, crowd_size(crowd), clock_mono_us() + LOOK_US))
            assert_true(clock_mono_us() < until_us);
    } while (!server_says(cluster.servers[0], "failpoint stock-loading: pause"));
    struct witness *holder = cluster_hold(); /* behind the order, and before the loader */
    int64_t held_us = clock_mono_us();
    crowd_answers(crowd, CLUSTER_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 503, "backend_unavailable"), 1);
    crowd_destroy(crowd);
    witness_wait_blocked(cluster.witness, 1);
    buy_others(OTHERS);
    clock_sleep_until(held_us + 3 * (int64_t)WORK_US / 2); /* one wait has been in vain */
    witness_release(holder);
    T_UNTIL(is_loaded());
    buy.more = NULL;
    shop_expect_buy(cluster.servers[0], &buy, 201, "", NULL);
    cluster_expect_settled();
    cluster_stop_all();
}

/* A wrong mirror may take long to load, so who decides the orders of all products does not do it;
 * here the third load stands still. `drift`: by how much it is wrong. */
static void begin_wrong(int drift)
{
    cluster.product++;
    cluster_start("stock-loading=hold@3", NULL);
    shop_put(cluster.servers[0], CLUSTER_OTHER_PRODUCT, 5, NULL);
    shop_put(cluster.servers[0], cluster.product, 2, NULL);
    /* The reconciler's first round is over, and the next one comes when somebody asks for it. */
    T_UNTIL(server_metric(cluster.servers[0], "seckill_redis_stock_rounds_total", "") > 0);
    cluster_redis("HINCRBY @mirror:%lld stock %d", (long long)cluster.product, drift);
}

static void expect_others_sold(void)
{
    buy_others(3);
    assert_false(is_loaded());
    cluster_expect_settled();
    cluster_stop_all();
}

TEST(who_decides_loads_nothing)
{
    char id[SHOP_ID_SIZE];

    begin_wrong(3);
    struct buy buy = cluster_buy(1, 4);
    cluster_accept(cluster.servers[0], &buy, id);
    cluster_wait_status(cluster.servers[0], id, "failed");
    expect_others_sold();
}

TEST(who_reconciles_loads_nothing)
{
    begin_wrong(-1);
    buy_others(1); /* the reconciler comes when it is quiet again */
    T_UNTIL(!is_loaded());
    expect_others_sold();
}

/* What the server left that an upgrade has ended, in the middle of a sale: a mirror that says
 * nothing of its terms, one of which has changed since, and an order that is counted in the old
 * way. Nothing is sold twice, and all that there is is sold. */
TEST(what_an_older_server_has_left)
{
    enum { STOCK = 5 };
    char waiting[SHOP_ID_SIZE];

    cluster.product++;
    cluster_start("stock-writer-read=hold", NULL);
    shop_put(cluster.servers[0], cluster.product, STOCK, ", \"limit_per_user\": 1");
    struct buy buy = cluster_buy(1, 1);
    cluster_accept(cluster.servers[0], &buy, waiting);
    server_signal(cluster.servers[0], SIGKILL);
    cluster_bury(cluster.servers[0]);
    cluster_redis("HDEL @mirror:%lld terms loaded", (long long)cluster.product);
    cluster_redis("HDEL @units %lld:%lld:orders", (long long)cluster.product,
                  (long long)witness_sale(cluster.witness, cluster.product).epoch);
    witness_run(cluster.witness,
                "UPDATE product SET limit_per_user = 2, version = version + 1 WHERE id = %lld",
                (long long)cluster.product);
    cluster_start(NULL, NULL);
    for (int sold = 1; sold < STOCK; sold++) {
        shop_expect_buy(cluster.servers[0], &buy, 201, "", NULL);
        buy.user += sold % 2;
    }
    shop_expect_buy(cluster.servers[0], &buy, 409, "sold_out", NULL);
    cluster_wait_status(cluster.servers[0], waiting, "confirmed");
    cluster_expect_reconciled();
    assert_int_equal(witness_sale(cluster.witness, cluster.product).sold, STOCK);
    cluster_stop_all();
}

TEST_EACH(NULL, cluster_teardown)

int main(void)
{
    cluster_begin("redis_stock_loads");
    int failed = t_run_all(NULL, NULL);
    cluster_end("redis_stock_loads");
    return failed != 0;
}
