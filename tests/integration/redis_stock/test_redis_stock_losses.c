/*
 * redis-stock's Redis is flushed, killed, or not what it should be; an answer of it is lost.
 */
#include "lib/fixtures/stock_cluster.h"

#include "lib/stack.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything that waited is lost, and so is who had accepted it: the orders are unknown, the stock
 * is sold to others, and not one unit twice. */
TEST_WITH(a_flush_loses_what_waited, NULL, cluster_teardown)
{
    char id[SHOP_ID_SIZE];

    cluster.product++;
    struct server *first = cluster_start("stock-writer-read=pause:60000", NULL);
    shop_put(first, cluster.product, 4, NULL);
    struct buy buy = cluster_buy(1, 3);
    cluster_accept(first, &buy, id);
    server_signal(first, SIGKILL);
    cluster_bury(first);
    cluster_redis("FLUSHALL");
    struct server *second = cluster_start(NULL, NULL);
    cluster_expect_status(second, id, "404");
    buy = cluster_buy(2, 4);
    shop_expect_buy(second, &buy, 201, "", NULL);
    buy = cluster_buy(3, 1);
    shop_expect_buy(second, &buy, 409, "sold_out", NULL);
    cluster_expect_reconciled();
    cluster_stop_all();
}

TEST_WITH(flushes_amid_purchases, NULL, cluster_teardown)
{
    enum { BUYERS = 150, STOCK = 60 };
    struct crowd *crowd = crowd_create();

    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, STOCK, NULL);
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = cluster_buy(1 + i, 1);
        shop_crowd_buy(crowd, cluster.servers[i % CLUSTER_INSTANCES], &buy);
        crowd_send(crowd);
        if (i % 25 == 10)
            cluster_redis("FLUSHALL");
    }
    crowd_finish(crowd, CLUSTER_PATIENCE_US);
    T_UNTIL(cluster_waiting() == 0);
    int64_t sold = witness_sale(cluster.witness, cluster.product).orders;
    int64_t lost = crowd_count(crowd, 404, "not_found") + crowd_count(crowd, 409, "lost");
    /* A 202 is confirmed, failed or lost; what is confirmed has its row, and nothing else has. */
    if (crowd_count(crowd, 201, "") != sold ||
        sold + crowd_count(crowd, 409, "sold_out") + lost != BUYERS)
        fail_msg("%lld rows; %s", (long long)sold, crowd_summary(crowd));
    crowd_destroy(crowd);
    for (int i = 0; i < STOCK; i++) {
        struct buy buy = cluster_buy(1000 + i, 1);
        struct http_reply reply = shop_buy(cluster.servers[i % CLUSTER_INSTANCES], &buy);
        http_reply_fini(&reply);
    }
    cluster_expect_reconciled();
    assert_int_equal(witness_sale(cluster.witness, cluster.product).stock, 0);
    cluster_stop_all();
}

/* kill -9 with appendfsync always: whatever was answered 202 comes back with it. */
TEST_WITH(redis_is_killed_amid_purchases, NULL, cluster_teardown)
{
    enum { BUYERS = 90, STOCK = 1000 };
    struct crowd *crowd = crowd_create();

    cluster_start_three();
    shop_put(cluster.servers[0], cluster.product, STOCK, NULL);
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = cluster_buy(1 + i, 1);
        shop_crowd_buy(crowd, cluster.servers[i % CLUSTER_INSTANCES], &buy);
    }
    crowd_send(crowd);
    assert_true(crowd_wait(crowd, 20, clock_mono_us() + CLUSTER_PATIENCE_US));
    cluster_signal_stock(SIGKILL);
    struct buy other = {.strategy = "conditional", .product = 80000, .user = 1};
    shop_put(cluster.servers[0], 80000, 5, NULL); /* a PUT does not need Redis */
    shop_expect_buy(cluster.servers[1], &other, 201, "", NULL);
    struct buy late = cluster_buy(800, 1);
    late.more = "&wait_ms=3000";
    late.product = 80000; /* nobody stands before it there */
    shop_expect_buy(cluster.servers[2], &late, 503, "backend_unavailable", NULL);
    cluster_stock_back();
    crowd_finish(crowd, CLUSTER_PATIENCE_US);
    assert_int_equal(crowd_lost(crowd), 0);
    if (crowd_count(crowd, 404, NULL) + crowd_count(crowd, 409, NULL) != 0)
        fail_msg("%s", crowd_summary(crowd));
    late.more = NULL;
    late.product = cluster.product;
    shop_expect_buy_soon(cluster.servers[2], &late, 201);
    cluster_expect_settled();
    int64_t sold = witness_sale(cluster.witness, cluster.product).orders;
    int64_t known = crowd_count(crowd, 201, "") + 1;
    if (sold < known || sold > known + crowd_count(crowd, 504, NULL))
        fail_msg("%lld rows; %s", (long long)sold, crowd_summary(crowd));
    crowd_destroy(crowd);
    cluster_stop_all();
}

/* What the call with the lost answer has reserved, or has not, is found by its number. */
static void expect_sold(struct crowd *crowd, int64_t orders)
{
    crowd_finish(crowd, CLUSTER_PATIENCE_US);
    if (crowd_count(crowd, 201, "") != crowd_size(crowd))
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    cluster_expect_settled();
    assert_int_equal(witness_sale(cluster.witness, cluster.product).orders, orders);
    cluster_stop_all();
}

/* Redis stops before it has the call, and goes on when nobody waits for its answer any more. */
TEST(an_answer_comes_too_late)
{
    struct crowd *crowd = crowd_create();

    cluster.product++;
    struct server *server = cluster_start("stock-reserving=stop@2", NULL);
    shop_put(server, cluster.product, 5, NULL);
    struct buy buy = cluster_buy(1, 1);
    shop_expect_buy(server, &buy, 201, "", NULL);
    buy = cluster_buy(2, 1);
    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    server_wait_stopped(server); /* its worker is connected */
    cluster_signal_stock(SIGSTOP);
    server_resume(server);
    T_UNTIL(server_says(server, "an answer was lost"));
    cluster_signal_stock(SIGCONT);
    expect_sold(crowd, 2);
}

/* How many scripts Redis has refused to run. */
static int64_t refused_scripts(void)
{
    static const char sought[] = "cmdstat_evalsha:";
    char text[16384];

    cluster_redis_text(text, sizeof text, "INFO commandstats");
    const char *line = strstr(text, sought);
    const char *rejected = line ? strstr(line, "rejected_calls=") : NULL;
    return rejected ? atoll(rejected + strlen("rejected_calls=")) : 0;
}

/* A Redis that refuses to say what became of the call, as one does that reads its file after a
 * restart, has not said that it was not executed: nobody is told that nothing was sold. */
TEST(an_answer_is_lost_and_refused)
{
    struct crowd *crowd = crowd_create();

    cluster.product++;
    struct server *server = cluster_start("stock-reply=fail,stock-recall=hold", NULL);
    shop_put(server, cluster.product, 5, NULL);
    struct buy buy = cluster_buy(1, 1);
    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    T_UNTIL(server_says(server, "an answer was lost"));
    int64_t before = refused_scripts();
    cluster_redis("ACL SETUSER default resetkeys ~*:stock:[^c]*"); /* all but the calls' answers */
    server_let_go(server);
    T_UNTIL(refused_scripts() > before + 1);
    cluster_redis("ACL SETUSER default allkeys");
    expect_sold(crowd, 1);
}

/* A buyer who is told that nothing was done has bought nothing, whatever Redis refuses. */
TEST(a_command_that_is_refused_sells_nothing)
{
    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 3, NULL);
    struct buy buy = cluster_buy(1, 1);
    shop_expect_buy(server, &buy, 201, "", NULL);
    cluster_redis("ACL SETUSER default -set");
    for (int i = 0; i < 3; i++)
        shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
    cluster_redis("ACL SETUSER default allcommands");
    for (int i = 0; i < 2; i++) {
        buy.user++;
        shop_expect_buy_soon(server, &buy, 201);
    }
    buy.user++;
    shop_expect_buy(server, &buy, 409, "sold_out", NULL);
    cluster_expect_reconciled();
    assert_int_equal(witness_sale(cluster.witness, cluster.product).orders, 3);
    cluster_stop_all();
}

/* A mirror whose stock is no integer is loaded anew. */
TEST_WITH(a_mirror_that_is_no_figure, NULL, cluster_teardown)
{
    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 3, NULL);
    struct buy buy = cluster_buy(1, 1);
    shop_expect_buy(server, &buy, 201, "", NULL);
    cluster_redis("HSET @mirror:%lld stock 5.5", (long long)cluster.product);
    buy.user++;
    shop_expect_buy(server, &buy, 201, "", NULL);
    cluster_redis("HSET @mirror:%lld stock abc", (long long)cluster.product);
    buy.user++;
    shop_expect_buy(server, &buy, 201, "", NULL);
    shop_expect_buy(server, &buy, 409, "sold_out", NULL);
    cluster_expect_settled();
    cluster_stop_all();
}

/* The answer was lost, and the call's record says that the script broke off on its way. */
TEST_WITH(a_call_that_broke_off_is_not_denied, NULL, cluster_teardown)
{
    struct crowd *crowd = crowd_create();

    cluster.product++;
    struct server *server = cluster_start("stock-reply=fail,stock-recall=hold", NULL);
    shop_put(server, cluster.product, 5, NULL);
    struct buy buy = cluster_buy(1, 1);
    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    T_UNTIL(server_says(server, "an answer was lost"));
    int64_t records =
        cluster_redis("EVAL local~n=0;for~_,k~in~ipairs(redis.call('KEYS',ARGV[1]))~do~"
                      "local~c=redis.call('GET',k):match('^%%d+');"
                      "redis.call('SET',k,c..'~?')~n=n+1~end;return~n 0 @call:*");
    assert_true(records > 0);
    server_let_go(server);
    crowd_finish(crowd, CLUSTER_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 504, "outcome_unknown"), 1);
    crowd_destroy(crowd);
    cluster_expect_settled();
    cluster_stop_all();
}

enum deaf { REDIS_IS_NOT_USED, REDIS_IS_DOWN, REDIS_REFUSES };

/* Starts the cluster's next sale in a way that Redis does not hear of. */
static void put_unheard(struct server *server, enum deaf how)
{
    if (how == REDIS_REFUSES)
        cluster_redis("ACL SETUSER default -del");
    else
        cluster_signal_stock(SIGKILL);
    shop_put(server, cluster.product, 3, NULL);
    if (how == REDIS_REFUSES)
        cluster_redis("ACL SETUSER default allcommands");
    else
        cluster_stock_back();
}

static void accept_soon(struct server *server, const struct buy *buy, char id[SHOP_ID_SIZE])
{
    int64_t until_us = clock_mono_us() + CLUSTER_PATIENCE_US;
    int status = 503;

    while (status == 503 && clock_mono_us() < until_us) {
        struct http_reply reply = shop_send(server, buy);
        status = reply.status;
        if (status == 202)
            http_reply_text(&reply, "id", id, SHOP_ID_SIZE);
        http_reply_fini(&reply);
    }
    assert_int_equal(status, 202);
}

/* The old sale's mirror is still there, and the writer, which would find it out, is held. A server
 * whose session with Redis is newer than its knowledge of the product asks the row: nobody is
 * accepted into the sale that is over. */
static void a_sale_ends_unheard(enum deaf how)
{
    char id[SHOP_ID_SIZE];

    cluster.product++;
    struct server *server = cluster_start("stock-writer-read=hold", NULL);
    struct server *without = server_start("--redis", NULL);
    shop_put(server, cluster.product, 5, NULL);
    struct buy buy = cluster_buy(1, 1);
    cluster_accept(server, &buy, id);
    put_unheard(how == REDIS_IS_NOT_USED ? without : server, how);
    buy.user++;
    accept_soon(server, &buy, id);
    cluster_expect_status(server, id, "queued");
    server_let_go(server);
    cluster_wait_status(server, id, "confirmed");
    cluster_expect_settled();
    assert_int_equal(witness_sale(cluster.witness, cluster.product).orders, 1);
    server_stop(without);
    cluster_stop_all();
}

TEST(a_sale_ends_while_redis_is_down)
{
    a_sale_ends_unheard(REDIS_IS_DOWN);
}

TEST(a_sale_ends_while_redis_refuses)
{
    a_sale_ends_unheard(REDIS_REFUSES);
}

TEST(a_sale_ends_through_an_instance_without_redis)
{
    a_sale_ends_unheard(REDIS_IS_NOT_USED);
}

/* Whether /readyz, once PostgreSQL serves, says so of the stock's Redis. */
static bool stock_redis_says(struct server *server, const char *text)
{
    server_wait_ready(server, 200, NULL);
    struct server_backend is = server_backend(server, "stock-redis");
    return *text ? strstr(is.detail, text) != NULL : !*is.detail;
}

static void patch(struct server *server, int64_t product, const char *body)
{
    char target[64];

    snprintf(target, sizeof target, "/products/%lld", (long long)product);
    assert_int_equal(server_status(server, "PATCH", target, NULL, body), 200);
}

/* Redis is down while one sale gets a higher limit and another one ends, and whoever knew of it
 * dies: the mirrors are of the sales' own epoch, and of their old terms. */
TEST(a_sale_changes_while_redis_is_down)
{
    char id[SHOP_ID_SIZE];

    int64_t limited = ++cluster.product;
    int64_t closed = ++cluster.product;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, limited, 5, ", \"limit_per_user\": 1");
    shop_put(server, closed, 5, NULL);
    struct buy buy = cluster_buy(1, 1);
    cluster_accept(server, &buy, id);
    buy.product = limited;
    cluster_accept(server, &buy, id);
    cluster_wait_status(server, id, "confirmed");
    cluster_signal_stock(SIGKILL);
    patch(server, limited, "{\"limit_per_user\": 2}");
    patch(server, closed, "{\"closes_at\": \"2020-01-01T00:00:00Z\"}");
    server_signal(server, SIGKILL);
    cluster_bury(server);
    cluster_stock_back();
    server = cluster_start("stock-writer-read=hold", NULL);
    accept_soon(server, &buy, id);
    buy.product = closed;
    shop_expect_buy(server, &buy, 409, "sale_not_open", NULL);
    server_let_go(server);
    cluster_wait_status(server, id, "confirmed");
    cluster_stop_all();
}

/* PostgreSQL ends the session of a load that is slower still; then the next order has it made. */
static bool accepts_after_a_load(struct server *server, const struct buy *buy,
                                 char id[SHOP_ID_SIZE])
{
    int64_t begun_us = clock_mono_us();
    struct http_reply reply = shop_send(server, buy);
    bool accepted = reply.status == 202;

    if (accepted) {
        assert_true(clock_mono_us() - begun_us >= 1400000);
        http_reply_text(&reply, "id", id, SHOP_ID_SIZE);
    } else {
        assert_int_equal(reply.status, 503);
        cluster_redis("DEL @mirror:%lld", (long long)buy->product);
    }
    http_reply_fini(&reply);
    return accepted;
}

/* The first order of the new sale finds the old one's mirror, and reads the row again after a load
 * that took longer than an order's work may: the load was not its work. */
TEST(a_load_is_not_the_orders_work)
{
    char id[SHOP_ID_SIZE];

    cluster.product++;
    struct server *server = cluster_start(
        "stock-writer-read=hold,stock-loading=pause:700@2+,stock-loaded=pause:700@2+", NULL);
    shop_put(server, cluster.product, 5, ", \"limit_per_user\": 5");
    struct buy buy = cluster_buy(1, 1);
    cluster_accept(server, &buy, id);
    cluster_signal_stock(SIGKILL);
    shop_put(server, cluster.product, 5, ", \"limit_per_user\": 5");
    cluster_stock_back();
    server_wait_ready(server, 200, "\"name\": \"stock-redis\", \"up\": true");
    buy.user++;
    T_UNTIL(accepts_after_a_load(server, &buy, id));
    server_let_go(server);
    cluster_wait_status(server, id, "confirmed");
    cluster_stop_all();
}

/* The call has reserved in the old sale; its answer is read from the record when the new one has
 * begun. */
TEST_WITH(a_sale_ends_while_an_answer_is_lost, NULL, cluster_teardown)
{
    struct crowd *crowd = crowd_create();

    cluster.product++;
    struct server *server = cluster_start("stock-reply=fail,stock-recall=hold", NULL);
    struct server *without = server_start("--redis", NULL);
    shop_put(server, cluster.product, 5, NULL);
    struct buy buy = cluster_buy(1, 1);
    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    T_UNTIL(server_says(server, "an answer was lost"));
    shop_put(without, cluster.product, 3, NULL);
    server_let_go(server);
    server_stop(without);
    expect_sold(crowd, 1);
}

/* No session is lost, so nobody asks the row; but the first order that comes to be written is found
 * to be of an ended sale, and then no more are accepted into it, however many come. */
TEST_WITH(an_ended_sale_is_found_out_by_its_first_order, NULL, cluster_teardown)
{
    enum { MANY = 1000000 };
    char id[SHOP_ID_SIZE];
    int64_t until_us = clock_mono_us() + CLUSTER_PATIENCE_US;

    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    struct server *without = server_start("--redis", NULL);
    shop_put(server, cluster.product, MANY, NULL);
    struct buy buy = cluster_buy(1, 1);
    shop_expect_buy(server, &buy, 201, "", NULL);
    int64_t epoch = cluster_redis("HGET @mirror:%lld epoch", (long long)cluster.product);
    shop_put(without, cluster.product, MANY, NULL);
    /* The reconciler does not come while they do, however long the first of them takes. */
    while (cluster_redis("HGET @mirror:%lld epoch", (long long)cluster.product) == epoch) {
        assert_true(clock_mono_us() < until_us);
        buy.user++;
        cluster_accept(server, &buy, NULL);
    }
    buy.user++;
    cluster_accept(server, &buy, id);
    cluster_wait_status(server, id, "confirmed");
    cluster_expect_settled();
    assert_true(cluster_claims("sale_ended") > 0);
    server_stop(without);
    cluster_stop_all();
}

/* The mirror is unloaded as soon as Redis is back, and not when the reconciler comes by: that one
 * wants the product's row, which is held. */
TEST(units_come_back_while_redis_is_down)
{
    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 0, NULL);
    struct buy buy = cluster_buy(1, 1);
    shop_expect_buy(server, &buy, 409, "sold_out", NULL);
    cluster_signal_stock(SIGKILL);
    struct buy restock = cluster_buy(0, 1);
    restock.strategy = "conditional";
    shop_expect_restock(server, &restock, 200, "");
    struct witness *holder = cluster_hold();
    cluster_stock_back();
    T_UNTIL(cluster_redis("EXISTS @mirror:%lld", (long long)cluster.product) == 0);
    witness_close(holder);
    shop_expect_buy_soon(server, &buy, 201);
    cluster_expect_settled();
    cluster_stop_all();
}

TEST_WITH(a_redis_that_may_forget_is_told_of, NULL, cluster_teardown)
{
    /* The locks' Redis keeps no append-only file. */
    struct server *server = server_start("--stock-redis", stack_redis());
    T_UNTIL(stock_redis_says(server, "appendonly"));
    server_stop(server);
}

static int a_master_again(void **state)
{
    if (cluster_has_nodes())
        return cluster_teardown(state);
    cluster_redis("REPLICAOF NO ONE");
    cluster_redis("CONFIG SET replica-serve-stale-data yes");
    return cluster_teardown(state);
}

/* It opens sessions and obeys SELECT, as one does that still reads its file: this one is a replica
 * that has lost its master. */
TEST_WITH(a_redis_that_serves_nobody_says_why, NULL, a_master_again)
{
    if (cluster_has_nodes())
        skip(); /* REPLICAOF is refused there */
    cluster.product++;
    cluster_redis("CONFIG SET replica-serve-stale-data no");
    cluster_redis("REPLICAOF 127.0.0.1 1");
    struct server *server = server_start(NULL);
    T_UNTIL(stock_redis_says(server, "MASTERDOWN"));
    shop_put(server, cluster.product, 5, NULL);
    struct buy buy = cluster_buy(1, 1);
    shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
    cluster_redis("REPLICAOF NO ONE");
    shop_expect_buy_soon(server, &buy, 201);
    T_UNTIL(stock_redis_says(server, ""));
    server_stop(server);
}

static int goes_on(void **state)
{
    cluster_signal_stock(SIGCONT);
    cluster_redis("ACL SETUSER default allkeys allcommands");
    return cluster_teardown(state);
}

TEST_EACH(NULL, goes_on)

int main(void)
{
    cluster_begin("redis_stock_losses");
    int failed = t_run_all(NULL, stack_restore);
    cluster_end("redis_stock_losses");
    return failed != 0;
}
