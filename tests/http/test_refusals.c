/* Orders that are refused: what is malformed, every final 'no', and every 503 that can be had. */
#include "lib/t.h"

#include "base/clock.h"
#include "http/lib/expect.h"
#include "http/lib/one_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char order[] = "{\"product_id\": 1, \"user_id\": 1}";

TEST(malformed_orders_are_400)
{
    static const struct {
        const char *target;
        const char *headers;
        const char *body;
        const char *code;
        const char *field;
    } cases[] = {
        {"/orders", NULL, "", "invalid_json", NULL},
        {"/orders", NULL, "[]", "invalid_json", NULL},
        {"/orders", NULL, "{\"product_id\": 1, \"user_id\": 1}x", "invalid_json", NULL},
        {"/orders", NULL, "{\"product_id\": 1, \"product_id\": 1, \"user_id\": 1}", "invalid_json",
         NULL},
        {"/orders", NULL, "{\"product_id\": 1, \"user_id\": \"\xff\"}", "invalid_json", NULL},
        {"/orders", NULL, "{\"product_id\": 1}", "invalid_field", "user_id"},
        {"/orders", NULL, "{\"user_id\": 1}", "invalid_field", "product_id"},
        {"/orders", NULL, "{\"product_id\": 1.5, \"user_id\": 1}", "invalid_field", "product_id"},
        {"/orders", NULL, "{\"product_id\": \"9223372036854775808\", \"user_id\": 1}",
         "invalid_field", "product_id"},
        {"/orders", NULL, "{\"product_id\": 1, \"user_id\": 0}", "invalid_field", "user_id"},
        {"/orders", NULL, "{\"product_id\": 1, \"user_id\": 1, \"quantity\": 0}", "invalid_field",
         "quantity"},
        {"/orders", NULL, "{\"product_id\": 1, \"user_id\": 1, \"quantity\": 1000001}",
         "invalid_field", "quantity"},
        {"/orders", NULL, "{\"product_id\": 1, \"user_id\": 1, \"quantity\": null}",
         "invalid_field", "quantity"},
        {"/orders", NULL, "{\"product_id\": 1, \"user_id\": 1, \"status\": 1}", "invalid_field",
         "status"},
        {"/orders?strategy=nope", NULL, order, "unknown_strategy", "strategy"},
        {"/orders?strategy=", NULL, order, "unknown_strategy", "strategy"},
        {"/orders?strategy=none%00", NULL, order, "invalid_field", "strategy"},
        {"/orders?strategy=none&strategy=none", NULL, order, "invalid_field", "strategy"},
        {"/orders?wait_ms=60001", NULL, order, "invalid_field", "wait_ms"},
        {"/orders?wait_ms=-1", NULL, order, "invalid_field", "wait_ms"},
        {"/orders?wait_ms=", NULL, order, "invalid_field", "wait_ms"},
        {"/orders?wait=1", NULL, order, "invalid_field", "wait"},
        {"/orders?stall=true", NULL, order, "invalid_field", "stall"},
        {"/orders?strategy=conditional&body=plain", NULL, order, "invalid_field", "body"},
        {"/orders?strategy=local-lock&body=fat", NULL, order, "invalid_field", "body"},
        {"/orders", "Idempotency-Key:\r\n", order, "invalid_header", "Idempotency-Key"},
        {"/orders", "Idempotency-Key: a b\r\n", order, "invalid_header", "Idempotency-Key"},
        {"/orders", "Idempotency-Key: a\r\nIdempotency-Key: a\r\n", order, "invalid_header",
         "Idempotency-Key"},
        {"/orders", "Idempotency-Key: \"a\r\n", order, "invalid_header", "Idempotency-Key"},
    };

    put_product(server, 1, "{\"stock\": 10}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_problem(server, 400, cases[i].code, cases[i].field, "POST", cases[i].target,
                       cases[i].headers, cases[i].body);
    assert_int_equal(witness_sale(witness, 1).orders, 0);
}

TEST(malformed_holds_are_400)
{
    static const char *const holds[] = {"-1", "86401", "\"x\"", "\"60\"", "1.5", "null", "[60]"};
    char body[96];

    put_product(server, 1, "{\"stock\": 10}");
    for (size_t i = 0; i < sizeof holds / sizeof *holds; i++) {
        snprintf(body, sizeof body, "{\"product_id\": 1, \"user_id\": 1, \"hold_s\": %s}",
                 holds[i]);
        expect_problem(server, 400, "invalid_field", "hold_s", "POST", "/orders", NULL, body);
    }
    assert_int_equal(witness_sale(witness, 1).stock, 10);
    assert_int_equal(witness_sale(witness, 1).pending, 0);
}

TEST(malformed_lists_are_400)
{
    static const struct {
        const char *target;
        const char *field;
    } cases[] = {
        {"/orders?limit=0", "limit"},
        {"/orders?limit=1001", "limit"},
        {"/orders?limit=1000000000000000000000", "limit"},
        {"/orders?product_id=0", "product_id"},
        {"/orders?user_id=x", "user_id"},
        {"/orders?status=sold", "status"},
        {"/orders?status=", "status"},
        {"/orders?after=1", "after"},
        {"/orders?after=", "after"},
        {"/orders?offset=1", "offset"},
        {"/orders/00000000-0000-7000-8000-000000000000?x", "x"},
        {"/products?limit=0", "limit"},
        {"/products?after=-1", "after"},
        {"/products/1?x=1", "x"},
        {"/strategies?x=1", "x"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_problem(server, 400, "invalid_field", cases[i].field, "GET", cases[i].target, NULL,
                       NULL);
}

TEST(a_final_no_is_409_or_404)
{
    put_product(server, 1, "{\"stock\": 0}");
    expect_problem(server, 409, "sold_out", NULL, "POST", "/orders", NULL, order);
    put_product(server, 1, "{\"stock\": 9, \"limit_per_user\": 2}");
    expect_problem(server, 409, "limit_reached", NULL, "POST", "/orders", NULL,
                   "{\"product_id\": 1, \"user_id\": 1, \"quantity\": 3}");
    put_product(server, 1, "{\"stock\": 9, \"opens_at\": \"2999-01-01T00:00:00Z\"}");
    expect_problem(server, 409, "sale_not_open", NULL, "POST", "/orders", NULL, order);
    put_product(server, 1, "{\"stock\": 9, \"closes_at\": \"2001-01-01T00:00:00Z\"}");
    expect_problem(server, 409, "sale_not_open", NULL, "POST", "/orders", NULL, order);
    expect_problem(server, 404, "unknown_product", NULL, "POST", "/orders", NULL,
                   "{\"product_id\": 404, \"user_id\": 1}");
}

TEST(a_body_that_is_too_long_is_413)
{
    enum { LENGTH = 16 * 1024 };
    char *body = malloc(LENGTH + 2);

    assert_non_null(body);
    put_product(server, 1, "{\"stock\": 9}");
    memset(body, ' ', LENGTH + 1);
    memcpy(body, order, sizeof order - 1);
    body[LENGTH + 1] = '\0';
    expect_problem(server, 413, "body_too_large", NULL, "POST", "/orders", NULL, body);
    body[LENGTH] = '\0';
    expect_status(server, 201, "POST", "/orders", NULL, body);
    free(body);
}

/* Sends an order on a connection of its own and does not wait for the answer. */
static struct http_client *post_without_waiting(struct server *to, const char *target)
{
    int64_t until_us = clock_mono_us() + SERVER_PATIENCE_US;
    struct http_client *client = http_client_open(server_address(to), until_us);
    char *text = http_request("POST", target, NULL, order);

    assert_non_null(client);
    assert_true(http_client_send(client, text, strlen(text), until_us));
    free(text);
    return client;
}

static int read_status(struct http_client *client)
{
    struct http_reply reply;
    int status;

    assert_int_equal(http_client_read(client, false, clock_mono_us() + SERVER_PATIENCE_US, &reply),
                     HTTP_REPLY);
    status = reply.status;
    http_reply_fini(&reply);
    http_client_close(client);
    return status;
}

/* Its worker is held by itself: one that waits for a row comes back to the queue twice a second,
 * and takes the only place in it. */
TEST(a_full_queue_and_a_long_wait_are_503)
{
    static const char target[] = "/orders?strategy=local-lock&wait_ms=60000";
    struct http_client *first;
    struct http_reply reply;

    server_use_failpoints("body.after-read=hold");
    struct server *slow = server_start("--work-timeout-ms", "60000", "--lock-ttl-ms", "120000",
                                       "--queue-capacity", "1", NULL);
    server_use_failpoints(NULL);
    put_product(slow, 1, "{\"stock\": 9}");
    first = post_without_waiting(slow, target);
    T_UNTIL(server_says(slow, "failpoint body.after-read: hold"));
    reply = server_call(slow, "POST", "/orders?strategy=local-lock&wait_ms=100", NULL, order);
    assert_problem(&reply, 503, "wait_timeout", NULL);
    assert_text(&reply, "phase", "queue");
    http_reply_fini(&reply);

    struct http_client *second = post_without_waiting(slow, target);
    server_wait_metric(slow, "seckill_lane_waiting", "strategy=\"local-lock\"", 1);
    expect_problem(slow, 503, "queue_full", NULL, "POST", target, NULL, order);
    server_let_go(slow);
    assert_int_equal(read_status(first), 201);
    assert_int_equal(read_status(second), 201);
    server_stop(slow);
}

/* An order of 3 s whose row is held. On a slow machine its time may be over before a worker has
 * come to it: then it says "queue", and another is sent. */
static void expect_lock_timeout(void)
{
    int64_t until_us = clock_mono_us() + t_patience_us();
    char phase[16] = "queue";

    while (strcmp(phase, "queue") == 0) {
        assert_true(clock_mono_us() < until_us);
        struct http_reply reply =
            server_call(server, "POST", "/orders?strategy=pessimistic&wait_ms=3000", NULL, order);
        assert_problem(&reply, 503, "wait_timeout", NULL);
        http_reply_text(&reply, "phase", phase, sizeof phase);
        http_reply_fini(&reply);
    }
    assert_string_equal(phase, "lock");
}

TEST(waiting_for_a_lock_too_long_is_503)
{
    put_product(server, 1, "{\"stock\": 9}");
    struct witness *holder = one_server_hold_product();
    expect_lock_timeout();
    expect_problem(server, 503, "wait_timeout", NULL, "POST",
                   "/orders?strategy=pessimistic&wait_ms=0", NULL, order);
    witness_release(holder);
    /* The statement that was given up may meet the row once more, and a worker may be slow. */
    T_UNTIL(server_status(server, "POST", "/orders?strategy=pessimistic&wait_ms=0", NULL, order) ==
            201);
}

TEST(a_strategy_without_its_backend_is_503)
{
    struct server *bare = server_start("--redis", NULL, NULL);
    struct http_reply list;

    put_product(bare, 1, "{\"stock\": 9}");
    expect_problem(bare, 503, "strategy_unavailable", NULL, "POST", "/orders?strategy=redis-queue",
                   NULL, order);
    expect_status(bare, 201, "POST", "/orders?strategy=conditional", NULL, order);
    list = expect(bare, 200, "GET", "/strategies", NULL, NULL);
    assert_non_null(strstr(list.body, "\"available\": false, \"unavailable_reason\": \""));
    http_reply_fini(&list);
    server_stop(bare);
}

TEST(without_postgresql_it_is_503)
{
    struct server *lost =
        server_start("--database", "host=/nowhere connect_timeout=1", "--log-level", "error", NULL);
    char log[4096];

    expect_problem(lost, 503, "backend_unavailable", NULL, "POST", "/orders?strategy=conditional",
                   NULL, order);
    expect_problem(lost, 503, "backend_unavailable", NULL, "GET", "/products/1", NULL, NULL);
    expect_problem(lost, 503, "backend_unavailable", NULL, "GET", "/products", NULL, NULL);
    expect_problem(lost, 503, "backend_unavailable", NULL, "PUT", "/products/1", NULL,
                   "{\"stock\": 1}");
    expect_problem(lost, 503, "backend_unavailable", NULL, "PUT", "/products", NULL,
                   "{\"first_id\": 1, \"count\": 1, \"stock\": 1}");
    expect_problem(lost, 503, "backend_unavailable", NULL, "GET", "/products/1/audit", NULL, NULL);
    expect_problem(lost, 503, "backend_unavailable", NULL, "POST", "/products/1/restock", NULL,
                   "{\"quantity\": 1}");
    expect_problem(lost, 503, "backend_unavailable", NULL, "GET", "/orders", NULL, NULL);
    expect_problem(lost, 503, "backend_unavailable", NULL, "POST",
                   "/orders/00000000-0000-7000-8000-000000000000/cancel", NULL, NULL);
    expect_problem(lost, 503, "backend_unavailable", NULL, "POST",
                   "/orders/00000000-0000-7000-8000-000000000000/pay", NULL, NULL);
    expect_problem(lost, 503, "backend_unavailable", NULL, "GET",
                   "/orders/00000000-0000-7000-8000-000000000000", NULL, NULL);
    server_signal(lost, SIGTERM);
    assert_int_equal(server_wait(lost, log, sizeof log), 0);
}

int main(void)
{
    return one_server_run("refusals");
}
