/*
 * redis-stock's Redis is flushed, killed, or not what it should be; an answer of it is lost.
 */
#include "lib/stock_bed.h"

#include "lib/stack.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Everything that waited is lost: the orders are unknown, the stock is sold to others, and not one
 * unit twice. */
static void a_flush_loses_what_waited(void **state)
{
    char id[SHOP_ID_SIZE];

    (void)state;
    bed.product++;
    struct server *first = bed_start("stock-writer-read=pause:60000", NULL);
    shop_put(first, bed.product, 4, NULL);
    struct buy buy = bed_buy(1, 3);
    bed_accept(first, &buy, id);
    server_signal(first, SIGKILL);
    bed_bury(first);
    bed_redis("FLUSHALL");
    struct server *second = bed_start(NULL, NULL);
    bed_expect_status(second, id, "404");
    buy = bed_buy(2, 4);
    shop_expect_buy(second, &buy, 201, "", NULL);
    buy = bed_buy(3, 1);
    shop_expect_buy(second, &buy, 409, "sold_out", NULL);
    bed_expect_reconciled();
    bed_stop_all();
}

static void flushes_amid_purchases(void **state)
{
    enum { BUYERS = 150, STOCK = 60 };
    struct crowd *crowd = crowd_create();
    int64_t lost = 0;

    (void)state;
    bed_start_three();
    shop_put(bed.servers[0], bed.product, STOCK, NULL);
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = bed_buy(1 + i, 1);
        shop_crowd_buy(crowd, bed.servers[i % BED_INSTANCES], &buy);
        crowd_send(crowd);
        if (i % 25 == 10)
            bed_redis("FLUSHALL");
    }
    crowd_finish(crowd, BED_PATIENCE_US);
    BED_WAIT(bed_waiting() == 0);
    int64_t sold = witness_sale(bed.witness, bed.product).orders;
    lost = crowd_count(crowd, 404, "not_found");
    /* A 202 is confirmed, failed or lost; what is confirmed has its row, and nothing else has. */
    if (crowd_count(crowd, 201, "") != sold ||
        sold + crowd_count(crowd, 409, "sold_out") + lost != BUYERS)
        fail_msg("%lld rows; %s", (long long)sold, crowd_summary(crowd));
    crowd_destroy(crowd);
    for (int i = 0; i < STOCK; i++) {
        struct buy buy = bed_buy(1000 + i, 1);
        struct http_reply reply = shop_buy(bed.servers[i % BED_INSTANCES], &buy);
        http_reply_fini(&reply);
    }
    bed_expect_reconciled();
    assert_int_equal(witness_sale(bed.witness, bed.product).stock, 0);
    bed_stop_all();
}

/* kill -9 with appendfsync always: whatever was answered 202 comes back with it. */
static void redis_is_killed_amid_purchases(void **state)
{
    enum { BUYERS = 90, STOCK = 1000 };
    struct crowd *crowd = crowd_create();

    (void)state;
    bed_start_three();
    shop_put(bed.servers[0], bed.product, STOCK, NULL);
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = bed_buy(1 + i, 1);
        shop_crowd_buy(crowd, bed.servers[i % BED_INSTANCES], &buy);
    }
    crowd_send(crowd);
    assert_true(crowd_wait(crowd, 20, clock_mono_us() + BED_PATIENCE_US));
    stack_kill("stock", SIGKILL);
    struct buy other = {.strategy = "conditional", .product = 80000, .user = 1};
    shop_put(bed.servers[0], 80000, 5, NULL); /* a PUT does not need Redis */
    shop_expect_buy(bed.servers[1], &other, 201, "", NULL);
    struct buy late = bed_buy(800, 1);
    late.more = "&wait_ms=3000";
    late.product = 80000; /* nobody stands before it there */
    shop_expect_buy(bed.servers[2], &late, 503, "backend_unavailable", NULL);
    stack_up();
    crowd_finish(crowd, BED_PATIENCE_US);
    assert_int_equal(crowd_lost(crowd), 0);
    if (crowd_count(crowd, 404, NULL) + crowd_count(crowd, 409, NULL) != 0)
        fail_msg("%s", crowd_summary(crowd));
    late.more = NULL;
    late.product = bed.product;
    shop_expect_buy_soon(bed.servers[2], &late, 201);
    bed_expect_settled();
    int64_t sold = witness_sale(bed.witness, bed.product).orders;
    int64_t known = crowd_count(crowd, 201, "") + 1;
    if (sold < known || sold > known + crowd_count(crowd, 504, NULL))
        fail_msg("%lld rows; %s", (long long)sold, crowd_summary(crowd));
    crowd_destroy(crowd);
    bed_stop_all();
}

/* Redis stops, the answer does not come; what was reserved is found by the call's number. */
static void an_answer_is_lost(void **state)
{
    struct crowd *crowd = crowd_create();

    (void)state;
    bed.product++;
    struct server *server = bed_start(NULL, NULL);
    shop_put(server, bed.product, 5, NULL);
    struct buy buy = bed_buy(1, 1);
    shop_expect_buy(server, &buy, 201, "", NULL); /* its worker is connected */
    stack_kill("stock", SIGSTOP);
    buy = bed_buy(2, 1);
    shop_crowd_buy(crowd, server, &buy);
    crowd_send(crowd);
    /* Longer than the work's allowance of 1 s, less than the order's whole time. */
    assert_false(crowd_wait(crowd, 1, clock_mono_us() + 1500000));
    stack_kill("stock", SIGCONT);
    crowd_finish(crowd, BED_PATIENCE_US);
    if (crowd_count(crowd, 201, "") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    bed_expect_settled();
    assert_int_equal(witness_sale(bed.witness, bed.product).orders, 2);
    bed_stop_all();
}

static void a_redis_that_may_forget_is_told_of(void **state)
{
    char text[160];
    bool told = false;

    (void)state;
    /* The locks' Redis keeps no append-only file. */
    struct server *server = server_start("--stock-redis", stack_redis());
    struct http_reply reply = server_call(server, "GET", "/readyz", NULL, NULL);
    assert_int_equal(reply.status, 200);
    for (int i = 0; i < http_reply_count(&reply, "backends"); i++) {
        char path[64];
        snprintf(path, sizeof path, "backends.%d.name", i);
        http_reply_text(&reply, path, text, sizeof text);
        if (strcmp(text, "stock-redis") != 0)
            continue;
        snprintf(path, sizeof path, "backends.%d.detail", i);
        http_reply_text(&reply, path, text, sizeof text);
        told = strstr(text, "appendonly") != NULL;
    }
    assert_true(told);
    http_reply_fini(&reply);
    FILE *log = t_open(server_log_path(server));
    char lines[2048] = "";
    lines[fread(lines, 1, sizeof lines - 1, log)] = '\0';
    fclose(log);
    assert_non_null(strstr(lines, "appendonly is not yes"));
    server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_flush_loses_what_waited, bed_teardown),
        cmocka_unit_test_teardown(flushes_amid_purchases, bed_teardown),
        cmocka_unit_test_teardown(redis_is_killed_amid_purchases, bed_teardown),
        cmocka_unit_test_teardown(an_answer_is_lost, bed_teardown),
        cmocka_unit_test_teardown(a_redis_that_may_forget_is_told_of, bed_teardown),
    };

    bed_begin("redis_stock_losses");
    int failed = cmocka_run_group_tests(tests, NULL, stack_restore);
    bed_end("redis_stock_losses");
    return failed != 0;
}
