/* Products: put, shown, listed, restocked, audited; and the token that this needs. */
#include "lib/t.h"

#include "http/lib/expect.h"
#include "http/lib/one_server.h"

#include <stdio.h>
#include <string.h>

TEST(a_put_makes_a_product_and_then_a_new_sale)
{
    static const char full[] =
        "{\"stock\": 5, \"name\": \"\xe7\xa7\x92\xe6\x9d\x80 \\\"x\\\" '); DROP TABLE product; "
        "--\", "
        "\"limit_per_user\": 2, \"opens_at\": \"2026-01-01T08:00:00+08:00\", "
        "\"closes_at\": \"2999-01-01T00:00:00.123456Z\"}";
    struct http_reply reply = expect(server, 201, "PUT", "/products/77", NULL, full);
    int64_t epoch = http_reply_int(&reply, "epoch");

    assert_header(&reply, "Content-Type", "application/json");
    http_reply_fini(&reply);
    reply = expect(server, 200, "GET", "/products/77", NULL, NULL);
    assert_int_equal(http_reply_int(&reply, "id"), 77);
    assert_text(&reply, "name", "\xe7\xa7\x92\xe6\x9d\x80 \"x\" '); DROP TABLE product; --");
    assert_int_equal(http_reply_int(&reply, "initial_stock"), 5);
    assert_int_equal(http_reply_int(&reply, "stock"), 5);
    assert_int_equal(http_reply_int(&reply, "reserved"), 0);
    assert_int_equal(http_reply_int(&reply, "limit_per_user"), 2);
    assert_text(&reply, "opens_at", "2026-01-01T00:00:00.000000Z");
    assert_text(&reply, "closes_at", "2999-01-01T00:00:00.123456Z");
    assert_int_equal(http_reply_int(&reply, "epoch"), epoch);
    assert_true(http_reply_int(&reply, "version") >= 0);
    http_reply_fini(&reply);

    reply = expect(server, 200, "PUT", "/products/77", NULL, "{\"stock\": 0, \"name\": null}");
    assert_true(http_reply_int(&reply, "epoch") > epoch);
    assert_true(http_reply_is_null(&reply, "name"));
    assert_true(http_reply_is_null(&reply, "limit_per_user"));
    assert_true(http_reply_is_null(&reply, "opens_at"));
    assert_true(http_reply_is_null(&reply, "closes_at"));
    http_reply_fini(&reply);
}

TEST(a_put_makes_the_old_orders_vanish)
{
    char id[37];
    char target[64];
    struct http_reply page;

    put_product(server, 1, "{\"stock\": 5}");
    buy(server, 1, 1, id);
    put_product(server, 1, "{\"stock\": 5}");
    snprintf(target, sizeof target, "/orders/%s", id);
    expect_problem(server, 404, "not_found", NULL, "GET", target, NULL, NULL);
    page = expect(server, 200, "GET", "/orders?product_id=1", NULL, NULL);
    assert_int_equal(http_reply_count(&page, "orders"), 0);
    http_reply_fini(&page);
}

TEST(the_limits_of_numbers_are_kept)
{
    struct http_reply reply;

    put_product(server, INT64_C(9007199254740991),
                "{\"stock\": 9007199254740991, \"limit_per_user\": 9007199254740991}");
    reply = expect(server, 200, "GET", "/products/9007199254740991", NULL, NULL);
    assert_true(http_reply_int(&reply, "stock") == INT64_C(9007199254740991));
    assert_true(http_reply_int(&reply, "id") == INT64_C(9007199254740991));
    http_reply_fini(&reply);
    put_product(server, INT64_MAX, "{\"stock\": 1}");
    reply = expect(server, 200, "GET", "/products/9223372036854775807", NULL, NULL);
    assert_true(http_reply_int(&reply, "id") == INT64_MAX);
    http_reply_fini(&reply);
    reply =
        expect(server, 201, "POST", "/orders", NULL,
               "{\"product_id\": \"9223372036854775807\", \"user_id\": \"9223372036854775807\"}");
    assert_true(http_reply_int(&reply, "product_id") == INT64_MAX);
    assert_true(http_reply_int(&reply, "user_id") == INT64_MAX);
    assert_int_equal(reply.body[strlen(reply.body) - 1], '\n');
    http_reply_fini(&reply);
    expect_problem(server, 404, "not_found", NULL, "GET", "/products/9223372036854775808", NULL,
                   NULL);
    expect_problem(server, 404, "not_found", NULL, "GET", "/products/0", NULL, NULL);
    expect_problem(server, 404, "not_found", NULL, "GET", "/products/-1", NULL, NULL);
    expect_problem(server, 404, "not_found", NULL, "GET", "/products/x", NULL, NULL);
    expect_problem(server, 404, "unknown_product", NULL, "GET", "/products/404", NULL, NULL);
}

/* A double holds 53 bits: the mirrors of larger ids are unloaded, too, when a new sale begins. */
TEST(a_run_of_the_largest_ids_is_sold_from_redis)
{
    static const char order[] = "{\"product_id\": 9223372036854775807, \"user_id\": 1}";

    expect_status(server, 200, "PUT", "/products", NULL,
                  "{\"first_id\": 9223372036854775806, \"count\": 2, \"stock\": 1}");
    expect_status(server, 202, "POST", "/orders?strategy=redis-stock", NULL, order);
    expect_problem(server, 409, "sold_out", NULL, "POST", "/orders?strategy=redis-stock", NULL,
                   order);
    expect_status(server, 200, "PUT", "/products", NULL,
                  "{\"first_id\": \"9223372036854775806\", \"count\": 2, \"stock\": 1}");
    expect_status(server, 202, "POST", "/orders?strategy=redis-stock", NULL, order);
}

TEST(malformed_puts_are_400)
{
    static const struct {
        const char *target;
        const char *body;
        const char *code;
        const char *field;
    } cases[] = {
        {"/products/1", "", "invalid_json", NULL},
        {"/products/1", "{}", "invalid_field", "stock"},
        {"/products/1", "{\"stock\": null}", "invalid_field", "stock"},
        {"/products/1", "{\"stock\": -1}", "invalid_field", "stock"},
        {"/products/1", "{\"stock\": 1, \"hold_s\": -1}", "invalid_field", "hold_s"},
        {"/products/1", "{\"stock\": 1, \"hold_s\": 86401}", "invalid_field", "hold_s"},
        {"/products/1", "{\"stock\": 1, \"hold_s\": \"x\"}", "invalid_field", "hold_s"},
        {"/products/1", "{\"stock\": 9007199254740992}", "invalid_field", "stock"},
        {"/products/1", "{\"stock\": 1, \"epoch\": 1}", "invalid_field", "epoch"},
        {"/products/1", "{\"stock\": 1, \"limit_per_user\": 0}", "invalid_field", "limit_per_user"},
        {"/products/1", "{\"stock\": 1, \"name\": 5}", "invalid_field", "name"},
        {"/products/1", "{\"stock\": 1, \"opens_at\": \"today\"}", "invalid_field", "opens_at"},
        {"/products/1",
         "{\"stock\": 1, \"opens_at\": \"2026-01-01T00:00:00Z\", "
         "\"closes_at\": \"2026-01-01T00:00:00Z\"}",
         "invalid_field", "closes_at"},
        {"/products/1?x=1", "{\"stock\": 1}", "invalid_field", "x"},
        {"/products", "{\"first_id\": 1, \"count\": 0, \"stock\": 1}", "invalid_field", "count"},
        {"/products", "{\"first_id\": 1, \"count\": 1000001, \"stock\": 1}", "invalid_field",
         "count"},
        {"/products", "{\"first_id\": 0, \"count\": 1, \"stock\": 1}", "invalid_field", "first_id"},
        {"/products", "{\"first_id\": 9223372036854775807, \"count\": 2, \"stock\": 1}",
         "invalid_field", "count"},
        {"/products", "{\"first_id\": 1, \"count\": 1}", "invalid_field", "stock"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_problem(server, 400, cases[i].code, cases[i].field, "PUT", cases[i].target, NULL,
                       cases[i].body);
}

TEST(a_name_has_200_characters_at_most)
{
    enum { LONGEST = 200 };
    char name[LONGEST * 3 + 1];
    char body[sizeof name + 64];

    for (size_t i = 0; i < LONGEST; i++)
        snprintf(name + i * 3, sizeof name - i * 3, "\xe7\xa7\x92");
    snprintf(body, sizeof body, "{\"stock\": 1, \"name\": \"%s\"}", name);
    put_product(server, 1, body);
    snprintf(body, sizeof body, "{\"stock\": 1, \"name\": \"%sx\"}", name);
    expect_problem(server, 400, "invalid_field", "name", "PUT", "/products/1", NULL, body);
}

TEST(a_run_of_products_is_put_and_listed)
{
    struct http_reply reply;

    reply = expect(server, 200, "PUT", "/products", NULL,
                   "{\"first_id\": 1000, \"count\": 250, \"stock\": 3}");
    assert_int_equal(http_reply_int(&reply, "count"), 250);
    http_reply_fini(&reply);
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM product WHERE stock = 3 AND id "
                                             "BETWEEN 1000 AND 1249"),
                     250);
    put_product(server, 1250, "{\"stock\": 4}");
    reply = expect(server, 200, "GET", "/products?limit=200&after=999", NULL, NULL);
    assert_int_equal(http_reply_count(&reply, "products"), 200);
    assert_int_equal(http_reply_int(&reply, "products.0.id"), 1000);
    assert_int_equal(http_reply_int(&reply, "products.0.stock"), 3);
    assert_int_equal(http_reply_int(&reply, "next"), 1199);
    http_reply_fini(&reply);
    reply = expect(server, 200, "GET", "/products?limit=1000&after=1199", NULL, NULL);
    assert_int_equal(http_reply_int(&reply, "products.50.id"), 1250);
    assert_int_equal(http_reply_int(&reply, "products.50.stock"), 4);
    assert_true(http_reply_is_null(&reply, "next"));
    http_reply_fini(&reply);
}

TEST(a_restock_answers_the_product)
{
    struct http_reply reply;

    put_product(server, 1, "{\"stock\": 1}");
    reply = expect(server, 200, "POST", "/products/1/restock?strategy=local-lock&body=plain", NULL,
                   "{\"quantity\": 4}");
    assert_int_equal(http_reply_int(&reply, "id"), 1);
    assert_int_equal(http_reply_int(&reply, "stock"), 5);
    assert_int_equal(http_reply_int(&reply, "initial_stock"), 1);
    assert_header(&reply, "Idempotent-Replayed", "");
    http_reply_fini(&reply);
    for (int i = 0; i < 2; i++)
        expect_status(server, 200, "POST", "/products/1/restock", "Idempotency-Key: r\r\n",
                      "{\"quantity\": 10}");
    assert_int_equal(witness_sale(witness, 1).stock, 15);
    witness_expect_exact(witness, 1);
    expect_problem(server, 404, "unknown_product", NULL, "POST", "/products/404/restock", NULL,
                   "{\"quantity\": 1}");
    expect_problem(server, 400, "invalid_field", "quantity", "POST", "/products/1/restock", NULL,
                   "{\"quantity\": 0}");
    expect_problem(server, 400, "invalid_field", "quantity", "POST", "/products/1/restock", NULL,
                   "{}");
    expect_problem(server, 400, "unknown_strategy", "strategy", "POST",
                   "/products/1/restock?strategy=nope", NULL, "{\"quantity\": 1}");
}

/* An order of the first product that was accepted, and has failed. */
static void fail_order(const char *reason, int quantity)
{
    witness_run(witness,
                "INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status,"
                " reason, created_at) SELECT gen_random_uuid(), id, epoch, 3, %d, 'redis-stock', 3,"
                " '%s', now() FROM product WHERE id = 1",
                quantity, reason);
}

TEST(an_audit_tells_the_sale)
{
    char id[37];
    struct http_reply reply;

    put_product(server, 1, "{\"stock\": 5}");
    buy(server, 1, 1, id);
    expect_status(server, 201, "POST", "/orders?strategy=none", NULL,
                  "{\"product_id\": 1, \"user_id\": 2, \"quantity\": 2}");
    expect_status(server, 200, "POST", "/products/1/restock?strategy=conditional", NULL,
                  "{\"quantity\": 3}");
    reply = expect(server, 200, "GET", "/products/1/audit", NULL, NULL);
    assert_int_equal(http_reply_int(&reply, "product_id"), 1);
    assert_int_equal(http_reply_int(&reply, "initial_stock"), 5);
    assert_int_equal(http_reply_int(&reply, "restocked"), 3);
    assert_int_equal(http_reply_int(&reply, "stock"), 5);
    assert_int_equal(http_reply_int(&reply, "sold"), 3);
    assert_int_equal(http_reply_int(&reply, "oversold"), 0);
    assert_int_equal(http_reply_int(&reply, "lost_updates"), 0);
    assert_int_equal(http_reply_int(&reply, "duplicate_orders"), 0);
    assert_int_equal(http_reply_int(&reply, "limit_violations"), 0);
    assert_int_equal(http_reply_int(&reply, "queued"), 0);
    assert_int_equal(http_reply_int(&reply, "lost"), 0);
    assert_int_equal(http_reply_count(&reply, "strategies"), 2);
    assert_text(&reply, "strategies.0", "conditional");
    assert_text(&reply, "strategies.1", "none");
    assert_true(http_reply_bool(&reply, "consistent"));
    http_reply_fini(&reply);
    witness_run(witness, "UPDATE product SET stock = 9 WHERE id = 1");
    fail_order("lost", 6);
    fail_order("sold_out", 70);
    reply = expect(server, 200, "GET", "/products/1/audit", NULL, NULL);
    assert_int_equal(http_reply_int(&reply, "lost_updates"), 4);
    assert_int_equal(http_reply_int(&reply, "lost"), 6);
    assert_false(http_reply_bool(&reply, "consistent"));
    http_reply_fini(&reply);
    expect_problem(server, 404, "unknown_product", NULL, "GET", "/products/404/audit", NULL, NULL);
}

TEST(a_patch_changes_what_it_names)
{
    struct http_reply reply;

    put_product(server, 1,
                "{\"stock\": 9, \"name\": \"first\", \"limit_per_user\": 2, "
                "\"opens_at\": \"2026-01-01T00:00:00Z\"}");
    reply = expect(server, 200, "GET", "/products/1", NULL, NULL);
    int64_t epoch = http_reply_int(&reply, "epoch");
    int64_t version = http_reply_int(&reply, "version");
    http_reply_fini(&reply);
    expect_status(server, 201, "POST", "/orders", NULL, "{\"product_id\": 1, \"user_id\": 1}");

    reply = expect(server, 200, "PATCH", "/products/1", NULL,
                   "{\"name\": null, \"closes_at\": \"2999-01-01T00:00:00Z\"}");
    assert_true(http_reply_is_null(&reply, "name"));
    assert_int_equal(http_reply_int(&reply, "limit_per_user"), 2);
    assert_text(&reply, "opens_at", "2026-01-01T00:00:00.000000Z");
    assert_text(&reply, "closes_at", "2999-01-01T00:00:00.000000Z");
    assert_int_equal(http_reply_int(&reply, "stock"), 8);
    assert_int_equal(http_reply_int(&reply, "epoch"), epoch);
    assert_true(http_reply_int(&reply, "version") > version);
    http_reply_fini(&reply);
    assert_int_equal(witness_sale(witness, 1).orders, 1);

    expect_problem(server, 400, "invalid_field", "closes_at", "PATCH", "/products/1", NULL,
                   "{\"closes_at\": \"2025-01-01T00:00:00Z\"}");
    expect_problem(
        server, 400, "invalid_field", "closes_at", "PATCH", "/products/1", NULL,
        "{\"opens_at\": \"2026-01-01T00:00:00Z\", \"closes_at\": \"2026-01-01T00:00:00Z\"}");
    expect_problem(server, 400, "invalid_field", "stock", "PATCH", "/products/1", NULL,
                   "{\"stock\": 5}");
    expect_problem(server, 404, "unknown_product", NULL, "PATCH", "/products/404", NULL, "{}");
    reply = expect(server, 200, "PATCH", "/products/1", NULL,
                   "{\"name\": \"\u79d2\", \"limit_per_user\": null, \"opens_at\": null, "
                   "\"closes_at\": null}");
    assert_text(&reply, "name", "\xe7\xa7\x92");
    assert_true(http_reply_is_null(&reply, "limit_per_user"));
    assert_true(http_reply_is_null(&reply, "opens_at"));
    assert_true(http_reply_is_null(&reply, "closes_at"));
    http_reply_fini(&reply);
    expect_problem(server, 409, "limit_not_counted", "limit_per_user", "PATCH", "/products/1", NULL,
                   "{\"limit_per_user\": 1}");
}

/* A PUT that a client sends again, for lack of an answer, wipes nothing. */
TEST(a_put_may_ask_for_the_sale_that_it_follows)
{
    char match[64];
    struct http_reply reply;

    put_product(server, 1, "{\"stock\": 9}");
    reply = expect(server, 200, "GET", "/products/1", NULL, NULL);
    snprintf(match, sizeof match, "If-Match: \"%lld\"\r\n",
             (long long)http_reply_int(&reply, "epoch"));
    http_reply_fini(&reply);
    expect_status(server, 200, "PUT", "/products/1", match, "{\"stock\": 5}");
    expect_status(server, 201, "POST", "/orders", NULL, "{\"product_id\": 1, \"user_id\": 1}");
    expect_problem(server, 412, "epoch_mismatch", "If-Match", "PUT", "/products/1", match,
                   "{\"stock\": 5}");
    assert_int_equal(witness_sale(witness, 1).orders, 1);
    assert_int_equal(witness_sale(witness, 1).stock, 4);
    witness_run(witness, "DELETE FROM product WHERE id = 77");
    expect_problem(server, 412, "epoch_mismatch", "If-Match", "PUT", "/products/77", match,
                   "{\"stock\": 5}");
    expect_status(server, 404, "GET", "/products/77", NULL, NULL);
    static const char *const wrong[] = {
        "If-Match: 1\r\n",       "If-Match: *\r\n",
        "If-Match: \"\"\r\n",    "If-Match: \"1\", \"2\"\r\n",
        "If-Match: W/\"1\"\r\n", "If-Match: \"1\"\r\nIf-Match: \"1\"\r\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_problem(server, 400, "invalid_header", "If-Match", "PUT", "/products/1", wrong[i],
                       "{\"stock\": 5}");
}

/* Who sends one believes that nothing is wiped, or added to another sale. */
TEST(a_condition_that_nobody_looks_at_is_refused)
{
    static const struct {
        const char *method, *target, *body;
        bool takes_match;
    } writes[] = {{"PUT", "/products", "{\"first_id\": 1, \"count\": 1, \"stock\": 5}", false},
                  {"PATCH", "/products/1", "{\"name\": \"other\"}", false},
                  {"POST", "/products/1/restock", "{\"quantity\": 5}", false},
                  {"PUT", "/products/1", "{\"stock\": 5}", true}};
    static const char *const others[] = {"If-None-Match: *\r\n",
                                         "If-Unmodified-Since: Mon, 30 Nov 2026 00:00:00 GMT\r\n"};

    put_product(server, 1, "{\"stock\": 9}");
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        if (!writes[i].takes_match)
            expect_problem(server, 400, "invalid_header", "If-Match", writes[i].method,
                           writes[i].target, "If-Match: \"1\"\r\n", writes[i].body);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            expect_problem(server, 400, "invalid_header", NULL, writes[i].method, writes[i].target,
                           others[k], writes[i].body);
    }
    assert_int_equal(witness_sale(witness, 1).stock, 9);
}

static const struct {
    const char *method;
    const char *target;
    const char *body;
} admin_calls[] = {
    {"PATCH", "/products/1", "{\"name\": \"x\"}"},
    {"PUT", "/products/1", "{\"stock\": 1}"},
    {"PUT", "/products", "{\"first_id\": 1, \"count\": 1, \"stock\": 1}"},
    {"POST", "/products/1/restock", "{\"quantity\": 1}"},
    {"GET", "/products/1/audit", NULL},
};

enum { ADMIN_CALLS = sizeof admin_calls / sizeof *admin_calls };

TEST(admin_calls_through_a_proxy_are_403)
{
    static const char *const headers[] = {
        "Forwarded: for=127.0.0.1\r\n", "X-Forwarded-For: 127.0.0.1\r\n",
        "x-forwarded-host: localhost\r\n", "Origin: http://127.0.0.1\r\n"};

    put_product(server, 1, "{\"stock\": 1}");
    for (int i = 0; i < ADMIN_CALLS; i++)
        for (size_t k = 0; k < sizeof headers / sizeof *headers; k++)
            expect_problem(server, 403, "forbidden", NULL, admin_calls[i].method,
                           admin_calls[i].target, headers[k], admin_calls[i].body);
    expect_status(server, 200, "GET", "/products/1", headers[0], NULL);
}

TEST(admin_calls_without_the_token_are_401)
{
    static const char *const headers[] = {NULL, "Authorization: Bearer wrong\r\n",
                                          "Authorization: Basic c2VjcmV0\r\n",
                                          "Authorization: Bearer secret2\r\n"};
    struct server *guarded = server_start("--admin-token", "secret", NULL);

    for (int i = 0; i < ADMIN_CALLS; i++) {
        for (size_t k = 0; k < sizeof headers / sizeof *headers; k++)
            expect_problem(guarded, 401, "unauthorized", NULL, admin_calls[i].method,
                           admin_calls[i].target, headers[k], admin_calls[i].body);
        expect_status(guarded, 200, admin_calls[i].method, admin_calls[i].target,
                      "Authorization: Bearer secret\r\nX-Forwarded-For: 10.1.1.1\r\n",
                      admin_calls[i].body);
    }
    struct http_reply reply = expect(guarded, 401, "GET", "/products/1/audit", NULL, NULL);
    assert_header(&reply, "WWW-Authenticate", "Bearer");
    http_reply_fini(&reply);
    expect_status(guarded, 200, "GET", "/products/1", NULL, NULL);
    server_stop(guarded);
}

int main(void)
{
    return one_server_run("products");
}
