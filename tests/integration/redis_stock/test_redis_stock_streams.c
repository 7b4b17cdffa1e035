/*
 * redis-stock in several streams: products of each shard, of one instance and of several, and
 * another number of streams, which is refused while the one before it is in use, and taken when
 * nothing waits there any more.
 */
#include "lib/fixtures/stock_cluster.h"

#include "lib/stack.h"

#include <signal.h>

enum { STREAMS = 3 };
/* Nothing happens at it. */
#define IDLE "stock-reply=fail@1000000"

static int64_t first;

static void put_all(struct server *server)
{
    first = cluster.product += STREAMS;
    for (int i = 0; i < STREAMS; i++)
        shop_put(server, first + i, 10, NULL);
}

static void buy_all(struct server *server, int64_t user, char ids[STREAMS][SHOP_ID_SIZE])
{
    for (int i = 0; i < STREAMS; i++) {
        struct buy buy = cluster_buy(user, 2);
        buy.product = first + i;
        cluster_accept(server, &buy, ids[i]);
    }
}

static void expect_all(struct server *server, char ids[STREAMS][SHOP_ID_SIZE])
{
    for (int i = 0; i < STREAMS; i++)
        cluster_wait_status(server, ids[i], "confirmed");
    for (int i = 0; i < STREAMS; i++)
        witness_expect_exact(cluster.witness, first + i);
}

static struct witness *hold_all(void)
{
    return witness_hold(cluster.conninfo, first);
}

TEST(each_shard_sells_its_products)
{
    struct server *a = cluster_start_streams("3", NULL);
    struct server *b = cluster_start_streams("3", NULL);
    char ids[STREAMS][SHOP_ID_SIZE];

    put_all(a);
    buy_all(a, 1, ids);
    expect_all(b, ids);
    struct witness *holder = hold_all();
    buy_all(b, 2, ids);
    cluster_expect_status(a, ids[0], "queued");
    struct http_reply reply =
        server_call(a, "GET", t_text("/products/%lld", (long long)first), NULL, NULL);
    assert_int_equal(http_reply_int(&reply, "reserved"), 2);
    http_reply_fini(&reply);
    witness_release(holder);
    expect_all(a, ids);
    cluster_stop_all();
}

static void expect_refused(struct server *server, int64_t user)
{
    struct buy buy = cluster_buy(user, 1);

    buy.product = first;
    shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
}

TEST(another_number_of_streams_is_refused)
{
    struct server *a = cluster_start_streams(NULL, NULL);
    char ids[STREAMS][SHOP_ID_SIZE];

    put_all(a);
    buy_all(a, 1, ids);
    struct server *b = cluster_start_streams("3", IDLE);
    server_wait_ready(b, 200,
                      "other instances sell there with --stock-streams 1, and this one has 3");
    expect_refused(b, 2);
    buy_all(a, 3, ids);
    expect_all(a, ids);
    cluster_stop_all();
}

static void await_sale(struct server *server, int64_t user)
{
    struct buy buy = cluster_buy(user, 1);

    buy.product = first;
    shop_expect_buy_soon(server, &buy, 201);
}

/* What the shard before had sold is in PostgreSQL, so that no unit is sold twice. An instance with
 * the old number decides it, beside the one that waits for that, and may go on selling. */
TEST(what_waits_in_other_streams_is_decided_first)
{
    struct server *a = cluster_start_streams(NULL, NULL);
    char ids[STREAMS][SHOP_ID_SIZE];

    put_all(a);
    struct witness *holder = hold_all();
    buy_all(a, 1, ids);
    server_kill(a);
    cluster.count = 0;
    struct server *b = cluster_start_streams("3", IDLE);
    server_wait_ready(b, 200, "wait in the streams of --stock-streams 1, and this is 3");
    expect_refused(b, 2);
    a = cluster_start_streams("1", IDLE);
    server_wait_ready(b, 200, "other instances sell there with --stock-streams 1");
    witness_release(holder);
    expect_all(a, ids);
    await_sale(a, 3);
    server_stop(a);
    cluster.count = 1;
    await_sale(b, 4);
    buy_all(b, 2, ids);
    expect_all(b, ids);
    cluster_stop_all();
    a = cluster_start_streams("1", NULL);
    buy_all(a, 5, ids);
    expect_all(a, ids);
    cluster_stop_all();
}

/* It was frozen, its lease has ended, and it has not looked yet. */
TEST(an_instance_that_was_frozen_sells_from_no_old_stream)
{
    struct server *a = cluster_start_streams(NULL, NULL);
    char ids[STREAMS][SHOP_ID_SIZE];

    put_all(a);
    buy_all(a, 1, ids);
    expect_all(a, ids);
    T_UNTIL(cluster_redis("XLEN @orders") == 0);
    server_pause(a);
    cluster_redis("DEL @leases");
    struct server *b = cluster_start_streams("3", NULL);
    assert_int_equal(cluster_redis("GET @streams"), 3);
    server_kill(b); /* its lease is nobody's hindrance */
    cluster.count = 1;
    cluster_redis("DEL @leases");
    cluster_redis("SET @streams 1"); /* A's look will find nothing wrong: the shard says it alone */
    server_resume(a);
    expect_refused(a, 2);
    cluster_stop_all();
}

TEST_EACH(NULL, cluster_teardown)

int main(void)
{
    cluster_begin("redis_stock_streams");
    int failed = t_run_all(NULL, stack_restore);
    cluster_end("redis_stock_streams");
    return failed != 0;
}
