/*
 * What redis-stock does not know for sure it does not act on: a look into Redis that has failed.
 */
#include "lib/fixtures/stock_bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Redis refuses the look for the key's first order, which waits, and obeys all else. */
static void a_look_that_fails_frees_no_key(void **state)
{
    char id[SHOP_ID_SIZE];
    char again[SHOP_ID_SIZE];

    (void)state;
    bed.product++;
    struct server *server = bed_start("stock-writer-read=hold", NULL);
    shop_put(server, bed.product, 5, NULL);
    struct buy buy = bed_buy(1, 1);
    buy.key = "once";
    bed_accept(server, &buy, id);
    bed_redis("ACL SETUSER default -hexists");
    shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
    bed_redis("ACL SETUSER default allcommands");
    assert_int_equal(bed_redis("EXISTS @key:%lld:once", (long long)buy.user), 1);
    server_let_go(server);
    bed_wait_status(server, id, "confirmed");
    shop_expect_buy(server, &buy, 200, "", again);
    assert_string_equal(again, id);
    bed_expect_settled();
    assert_int_equal(witness_sale(bed.witness, bed.product).orders, 1);
    bed_stop_all();
}

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

/* Of an order in a Redis that an instance does not have it does not say that there is none. */
static void who_cannot_look_says_so(void **state)
{
    static const char lacks[] = "--stock-redis";
    char id[SHOP_ID_SIZE];
    char order[TARGET_SIZE];
    char none[TARGET_SIZE];
    char change[TARGET_SIZE + 8];
    char product[TARGET_SIZE];

    (void)state;
    bed.product++;
    struct server *without = server_start("--redis", NULL, "--stock-redis", NULL);
    snprintf(none, sizeof none, "/orders/018f0000-0000-7000-8000-000000000001");
    expect_said(without, "GET", none, 404, "not_found"); /* nobody has used redis-stock here */
    struct server *with = bed_start(NULL, NULL);
    shop_put(with, bed.product, 5, NULL);
    snprintf(product, sizeof product, "/products/%lld", (long long)bed.product);
    expect_said(without, "GET", product, 200, "\"reserved\": 0");
    struct witness *hand = bed_hold();
    struct buy buy = bed_buy(1, 2);
    bed_accept(with, &buy, id);
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
    bed_wait_status(with, id, "confirmed");
    expect_said(without, "GET", order, 200, "confirmed");
    shop_put(without, bed.product, 5, NULL); /* its sale is over, and no other has such orders */
    expect_said(without, "GET", none, 404, "not_found");
    server_stop(without);
    bed_stop_all();
}

static int allowed_again(void **state)
{
    bed_redis("ACL SETUSER default allcommands");
    return bed_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(who_cannot_look_says_so,
                                  bed_teardown), /* the first sale of all */
        cmocka_unit_test_teardown(a_look_that_fails_frees_no_key, allowed_again),
    };

    bed_begin("redis_stock_doubts");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bed_end("redis_stock_doubts");
    return failed != 0;
}
