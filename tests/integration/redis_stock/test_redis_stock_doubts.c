/*
 * What redis-stock does not know for sure it does not act on: a look into Redis that has failed.
 */
#include "lib/fixtures/stock_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TARGET_SIZE = 80 };

/* Its answer is this status, and has these words. */
static void expect_said(struct server *server, const char *method, const char *target, int status,
                        const char *words)
{
    struct http_reply reply = server_call(server, method, target, NULL, NULL);

    if (reply.status != status || !strstr(reply.body, words))
        fail_msg("%s %s: %d %s", method, target, reply.status, reply.body);
    http_reply_fini(&reply);
}

/* The first sale of all. Of an order in a Redis that an instance does not have it does not say that
 * there is none. */
TEST(who_cannot_look_says_so)
{
    static const char lacks[] = "--stock-redis";
    char id[SHOP_ID_SIZE];
    char order[TARGET_SIZE];
    char none[TARGET_SIZE];
    char change[TARGET_SIZE + 8];
    char product[TARGET_SIZE];

    cluster.product++;
    struct server *without = server_start("--redis", NULL, "--stock-redis", NULL);
    server_wait_ready(without, 200, NULL);
    snprintf(none, sizeof none, "/orders/018f0000-0000-7000-8000-000000000001");
    expect_said(without, "GET", none, 404, "not_found"); /* nobody has used redis-stock here */
    struct server *with = cluster_start(NULL, NULL);
    shop_put(with, cluster.product, 5, NULL);
    snprintf(product, sizeof product, "/products/%lld", (long long)cluster.product);
    expect_said(without, "GET", product, 200, "\"reserved\": 0");
    struct witness *hand = cluster_hold();
    struct buy buy = cluster_buy(1, 2);
    cluster_accept(with, &buy, id);
    snprintf(order, sizeof order, "/orders/%s", id);
    expect_said(with, "GET", product, 200, "\"reserved\": 2");
    expect_said(without, "GET", product, 200, "\"reserved\": null");
    expect_said(without, "GET", "/products", 200, "\"reserved\": null");
    expect_said(without, "GET", order, 503, lacks);
    expect_said(without, "GET", none, 503, lacks);
    snprintf(change, sizeof change, "%s/cancel", order);
    expect_said(without, "POST", change, 503, lacks);
    snprintf(change, sizeof change, "%s/pay", order);
    expect_said(without, "POST", change, 503, lacks);
    witness_close(hand);
    cluster_wait_status(with, id, "confirmed");
    expect_said(without, "GET", order, 200, "confirmed");
    shop_put(without, cluster.product, 5,
             NULL); /* its sale is over, and no other has such orders */
    expect_said(without, "GET", none, 404, "not_found");
    server_stop(without);
    cluster_stop_all();
}

static int allowed_again(void **state)
{
    cluster_redis("ACL SETUSER default allcommands");
    return cluster_teardown(state);
}

/* Redis refuses the look for the key's first order, which waits, and obeys all else. */
TEST_WITH(a_look_that_fails_frees_no_key, NULL, allowed_again)
{
    char id[SHOP_ID_SIZE];
    char again[SHOP_ID_SIZE];

    cluster.product++;
    struct server *server = cluster_start("stock-writer-read=hold", NULL);
    shop_put(server, cluster.product, 5, NULL);
    struct buy buy = cluster_buy(1, 1);
    buy.key = "once";
    cluster_accept(server, &buy, id);
    cluster_redis("ACL SETUSER default -hexists");
    shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
    cluster_redis("ACL SETUSER default allcommands");
    assert_int_equal(cluster_redis("EXISTS @key:%lld:once", (long long)buy.user), 1);
    server_let_go(server);
    cluster_wait_status(server, id, "confirmed");
    shop_expect_buy(server, &buy, 200, "", again);
    assert_string_equal(again, id);
    cluster_expect_settled();
    assert_int_equal(witness_sale(cluster.witness, cluster.product).orders, 1);
    cluster_stop_all();
}

TEST_EACH(NULL, cluster_teardown)

int main(void)
{
    cluster_begin("redis_stock_doubts");
    int failed = t_run_all(NULL, NULL);
    cluster_end("redis_stock_doubts");
    return failed != 0;
}
