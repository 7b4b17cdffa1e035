/* Orders that are served: bought, repeated, looked up, listed, cancelled. */
#include "lib/t.h"

#include "http/lib/expect.h"
#include "http/lib/one_server.h"
#include "lib/fixtures/outcome.h"

#include <stdio.h>
#include <string.h>

TEST(a_purchase_answers_201_and_the_order)
{
    struct http_reply reply;
    char id[64];
    char text[128];

    put_product(server, 1, "{\"stock\": 10}");
    reply = expect(server, 201, "POST", "/orders?strategy=pessimistic", NULL,
                   "{\"product_id\": 1, \"user_id\": 42, \"quantity\": 3}");
    assert_header(&reply, "Content-Type", "application/json");
    http_reply_text(&reply, "id", id, sizeof id);
    assert_int_equal(strlen(id), 36);
    assert_int_equal(id[14], '7');
    snprintf(text, sizeof text, "orders/%s", id);
    assert_header(&reply, "Location", text);
    assert_header(&reply, "Idempotent-Replayed", "");
    assert_int_equal(http_reply_int(&reply, "product_id"), 1);
    assert_int_equal(http_reply_int(&reply, "user_id"), 42);
    assert_int_equal(http_reply_int(&reply, "quantity"), 3);
    assert_text(&reply, "strategy", "pessimistic");
    assert_text(&reply, "status", "confirmed");
    http_reply_text(&reply, "created_at", text, sizeof text);
    assert_int_equal(strlen(text), 27);
    assert_int_equal(text[26], 'Z');
    assert_true(http_reply_int(&reply, "timings.queue_us") >= 0);
    assert_true(http_reply_int(&reply, "timings.lock_us") >= 0);
    assert_true(http_reply_int(&reply, "timings.work_us") > 0);
    http_reply_fini(&reply);
    assert_int_equal(
        witness_number(witness, "SELECT count(*) FROM orders WHERE id = '%s' AND status = 1", id),
        1);
    assert_int_equal(witness_sale(witness, 1).stock, 7);
}

TEST(quantity_strategy_and_content_type_have_defaults)
{
    struct http_reply reply;

    put_product(server, 1, "{\"stock\": 10}");
    reply = expect(server, 201, "POST", "/orders", "Content-Type: text/plain\r\n",
                   "{\"product_id\": 1, \"user_id\": 1}");
    assert_int_equal(http_reply_int(&reply, "quantity"), 1);
    assert_text(&reply, "strategy", "conditional");
    http_reply_fini(&reply);
}

TEST(every_strategy_of_the_list_sells)
{
    struct http_reply list = expect(server, 200, "GET", "/strategies", NULL, NULL);
    int count = http_reply_count(&list, "");

    put_product(server, 1, "{\"stock\": 100}");
    assert_true(count >= 6);
    for (int i = 0; i < count; i++) {
        char path[64];
        char name[64];
        char target[128];

        snprintf(path, sizeof path, "%d.name", i);
        http_reply_text(&list, path, name, sizeof name);
        snprintf(path, sizeof path, "%d.bodies", i);
        snprintf(target, sizeof target, "/orders?strategy=%s&wait_ms=5000%s", name,
                 http_reply_count(&list, path) > 0 ? "&body=guarded" : "");
        struct http_reply reply =
            server_call(server, "POST", target, NULL, "{\"product_id\": 1, \"user_id\": 1}");
        outcome_reply(server, &reply);
        assert_int_equal(reply.status, 201);
        http_reply_fini(&reply);
    }
    http_reply_fini(&list);
    assert_int_equal(witness_sale(witness, 1).sold, count);
    witness_expect_exact(witness, 1);
}

TEST(a_repeat_answers_the_first_order)
{
    static const char key[] = "Idempotency-Key: !~first\r\n";
    static const char body[] = "{\"product_id\": 1, \"user_id\": 7, \"quantity\": 2}";
    struct http_reply first;
    struct http_reply again;
    char id[64];

    put_product(server, 1, "{\"stock\": 2}");
    first = expect(server, 201, "POST", "/orders?strategy=conditional", key, body);
    http_reply_text(&first, "id", id, sizeof id);
    http_reply_fini(&first);
    again = expect(server, 200, "POST", "/orders?strategy=redis-queue", key, body);
    assert_header(&again, "Idempotent-Replayed", "true");
    assert_text(&again, "id", id);
    assert_text(&again, "strategy", "conditional");
    assert_null(strstr(again.body, "timings"));
    http_reply_fini(&again);
    expect_problem(server, 409, "idempotency_mismatch", NULL, "POST", "/orders", key,
                   "{\"product_id\": 1, \"user_id\": 7, \"quantity\": 1}");
    expect_problem(server, 409, "sold_out", NULL, "POST", "/orders", key,
                   "{\"product_id\": 1, \"user_id\": 8, \"quantity\": 2}");
    assert_int_equal(witness_sale(witness, 1).orders, 1);
}

TEST(an_order_is_looked_up)
{
    struct http_reply reply;
    char id[37];
    char target[64];

    put_product(server, 1, "{\"stock\": 2}");
    buy(server, 1, 5, id);
    snprintf(target, sizeof target, "/orders/%s", id);
    reply = expect(server, 200, "GET", target, NULL, NULL);
    assert_text(&reply, "id", id);
    assert_text(&reply, "status", "confirmed");
    assert_null(strstr(reply.body, "timings"));
    assert_null(strstr(reply.body, "reason"));
    http_reply_fini(&reply);
    expect_problem(server, 404, "not_found", NULL, "GET",
                   "/orders/00000000-0000-7000-8000-000000000000", NULL, NULL);
}

TEST(orders_are_listed_in_pages)
{
    enum { ORDERS = 5 };
    char ids[ORDERS][37];
    char target[256];
    struct http_reply page;

    put_product(server, 1, "{\"stock\": 100}");
    put_product(server, 2, "{\"stock\": 100}");
    for (int i = 0; i < ORDERS; i++)
        buy(server, 1, 10 + i % 2, ids[i]);
    page = expect(server, 200, "GET", "/orders?product_id=1&limit=2", NULL, NULL);
    assert_int_equal(http_reply_count(&page, "orders"), 2);
    assert_text(&page, "orders.0.id", ids[0]);
    assert_text(&page, "next", ids[1]);
    http_reply_fini(&page);
    snprintf(target, sizeof target, "/orders?product_id=1&limit=1000&after=%s", ids[1]);
    page = expect(server, 200, "GET", target, NULL, NULL);
    assert_int_equal(http_reply_count(&page, "orders"), ORDERS - 2);
    assert_text(&page, "orders.0.id", ids[2]);
    assert_true(http_reply_is_null(&page, "next"));
    http_reply_fini(&page);
    page = expect(server, 200, "GET", "/orders?product_id=1&user_id=11", NULL, NULL);
    assert_int_equal(http_reply_count(&page, "orders"), 2);
    http_reply_fini(&page);
    page = expect(server, 200, "GET", "/orders?product_id=2", NULL, NULL);
    assert_int_equal(http_reply_count(&page, "orders"), 0);
    assert_true(http_reply_is_null(&page, "next"));
    http_reply_fini(&page);
}

TEST(orders_are_listed_by_status)
{
    static const struct {
        const char *query;
        int first, count;
    } lists[] = {{"product_id=1&status=confirmed", 1, 2},
                 {"product_id=1&status=cancelled", 0, 1},
                 {"product_id=1&user_id=10&status=cancelled", 0, 1},
                 {"user_id=10&status=confirmed", 1, 1},
                 {"product_id=1&status=expired", 0, 0},
                 {"status=cancelled", 0, 1}};
    char ids[3][37];

    put_product(server, 1, "{\"stock\": 100}");
    for (int i = 0; i < 3; i++)
        buy(server, 1, 10 + i / 2, ids[i]);
    expect_status(server, 200, "POST", t_text("/orders/%s/cancel", ids[0]), NULL, NULL);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *target = t_text("/orders?%s", lists[i].query);
        struct http_reply page = expect(server, 200, "GET", target, NULL, NULL);
        assert_int_equal(http_reply_count(&page, "orders"), lists[i].count);
        if (lists[i].count)
            assert_text(&page, "orders.0.id", ids[lists[i].first]);
        http_reply_fini(&page);
    }
}

TEST(a_cancel_gives_the_stock_back_once)
{
    char id[37];
    char target[64];

    put_product(server, 1, "{\"stock\": 2, \"limit_per_user\": 1}");
    buy(server, 1, 5, id);
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    for (int i = 0; i < 3; i++) {
        struct http_reply reply = expect(server, 200, "POST", target, NULL, NULL);

        assert_header(&reply, "Content-Type", "application/json");
        assert_text(&reply, "id", id);
        assert_text(&reply, "status", "cancelled");
        http_reply_fini(&reply);
    }
    assert_int_equal(witness_sale(witness, 1).stock, 2);
    expect_problem(server, 404, "not_found", NULL, "POST",
                   "/orders/00000000-0000-7000-8000-000000000000/cancel", NULL, NULL);
    buy(server, 1, 5, id);
    expect_problem(server, 409, "limit_reached", NULL, "POST", "/orders", NULL,
                   "{\"product_id\": 1, \"user_id\": 5}");
}

/* No strategy of today leaves a failed order behind; the rows of those to come look like this. */
TEST(a_failed_order_is_shown_and_not_cancelled)
{
    static const char id[] = "01932d00-0000-7000-8000-000000000001";
    char target[64];
    struct http_reply reply;

    put_product(server, 1, "{\"stock\": 1}");
    witness_run(witness,
                "INSERT INTO orders SELECT '%s', id, epoch, 3, 1, 'conditional', 3, 'sold_out', "
                "NULL, now() FROM product WHERE id = 1",
                id);
    snprintf(target, sizeof target, "/orders/%s", id);
    reply = expect(server, 200, "GET", target, NULL, NULL);
    assert_text(&reply, "status", "failed");
    assert_text(&reply, "reason", "sold_out");
    http_reply_fini(&reply);
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    expect_problem(server, 409, "not_cancellable", NULL, "POST", target, NULL, NULL);
}

/* An order whose strategy this server does not have. */
TEST(an_order_of_an_unknown_strategy_is_not_cancelled)
{
    static const char id[] = "01932d00-0000-7000-8000-000000000002";

    put_product(server, 1, "{\"stock\": 1}");
    witness_run(witness,
                "INSERT INTO orders SELECT '%s', id, epoch, 3, 1, 'of-tomorrow', 1, NULL, NULL, "
                "now() FROM product WHERE id = 1",
                id);
    expect_problem(server, 503, "strategy_unavailable", NULL, "POST",
                   "/orders/01932d00-0000-7000-8000-000000000002/cancel", NULL, NULL);
}

int main(void)
{
    return one_server_run("orders");
}
