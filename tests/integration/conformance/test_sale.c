/* Selling: a crowd on a short stock, quantities, windows, limits, in every strategy. */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"

#include "base/clock.h"

#include <stdio.h>

enum { BUYERS = 64, STOCK = 20, PATIENCE_US = 60000000 };

static void a_crowd_buys_what_there_is(struct test_case *the)
{
    shop_put(the->servers[0], the->product, STOCK, NULL);
    struct crowd *crowd = case_buyers(the, BUYERS, 1, 0);

    crowd_finish(crowd, PATIENCE_US);
    case_expect_rows(the, crowd);
    assert_int_equal(crowd_distinct_orders(crowd), crowd_count(crowd, 201, ""));
    if (the->exact) {
        if (crowd_count(crowd, 201, "") != STOCK ||
            crowd_count(crowd, 409, "sold_out") != BUYERS - STOCK)
            fail_msg("%s", crowd_summary(crowd));
        assert_int_equal(witness_sale(the->witness, the->product).stock, 0);
    }
    crowd_destroy(crowd);

    /* Whatever a race left over goes one by one; then sold out stays sold out, from every instance.
     */
    for (int64_t left = witness_sale(the->witness, the->product).stock; left > 0; left--) {
        struct buy buy = case_buy(the, 1000 + left);
        shop_expect_buy(case_server(the, (int)left), &buy, 201, "", NULL);
    }
    for (int i = 0; i < 2 * the->instances; i++) {
        struct buy buy = case_buy(the, 500 + i);
        shop_expect_buy(case_server(the, i), &buy, 409, "sold_out", NULL);
    }
}

static void quantities_above_one(struct test_case *the)
{
    shop_put(the->servers[0], the->product, 50, NULL);
    struct crowd *crowd = case_buyers(the, 30, 1, 3);

    crowd_finish(crowd, PATIENCE_US);
    case_expect_rows(the, crowd);
    if (the->exact)
        assert_int_equal(crowd_count(crowd, 201, ""), 16);
    crowd_destroy(crowd);
    if (!the->exact)
        return;
    /* Two are left: three do not fit, two do. */
    struct buy buy = case_buy(the, 100);
    buy.quantity = 3;
    shop_expect_buy(case_server(the, 1), &buy, 409, "sold_out", NULL);
    buy.quantity = 2;
    shop_expect_buy(case_server(the, 2), &buy, 201, "", NULL);
    case_expect_rows(the, NULL);
    assert_int_equal(witness_sale(the->witness, the->product).sold, 50);
}

static void windows_open_and_close(struct test_case *the)
{
    struct buy buy = case_buy(the, 1);
    char more[96];
    char at[CLOCK_RFC3339_LENGTH + 1];

    clock_format_rfc3339(clock_wall_us() + 3600 * CLOCK_US_PER_S, at);
    snprintf(more, sizeof more, ", \"opens_at\": \"%s\"", at);
    shop_put(the->servers[0], the->product, 5, more);
    shop_expect_buy(case_server(the, 1), &buy, 409, "sale_not_open", NULL);
    clock_format_rfc3339(clock_wall_us() - CLOCK_US_PER_S, at);
    snprintf(more, sizeof more, ", \"closes_at\": \"%s\"", at);
    shop_put(the->servers[0], the->product, 5, more);
    shop_expect_buy(case_server(the, 1), &buy, 409, "sale_not_open", NULL);
    assert_int_equal(witness_sale(the->witness, the->product).orders, 0);

    clock_format_rfc3339(clock_wall_us() + 3600 * CLOCK_US_PER_S, at);
    snprintf(more, sizeof more, ", \"opens_at\": \"2020-01-01T00:00:00Z\", \"closes_at\": \"%s\"",
             at);
    shop_put(the->servers[0], the->product, 5, more);
    shop_expect_buy(case_server(the, 1), &buy, 201, "", NULL);
    case_expect_rows(the, NULL);
}

/* Limits are safe in every strategy, also where the stock is not. */
static void a_user_gets_their_limit(struct test_case *the)
{
    shop_put(the->servers[0], the->product, 1000, ", \"limit_per_user\": 3");
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < 50; i++) {
        struct buy buy = case_buy(the, 7);
        shop_crowd_buy(crowd, case_server(the, i), &buy);
    }
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 201, "") != 3 || crowd_count(crowd, 409, "limit_reached") != 47)
        fail_msg("%s", crowd_summary(crowd));
    case_expect_rows(the, crowd);
    crowd_destroy(crowd);
    assert_int_equal(witness_sale(the->witness, the->product).sold, 3);

    struct buy other = case_buy(the, 8);
    other.quantity = 4;
    shop_expect_buy(case_server(the, 1), &other, 409, "limit_reached", NULL);
    other.quantity = 2;
    shop_expect_buy(case_server(the, 2), &other, 201, "", NULL);
    shop_expect_buy(case_server(the, 0), &other, 409, "limit_reached", NULL);
    other.quantity = 1;
    shop_expect_buy(case_server(the, 1), &other, 201, "", NULL);
    case_expect_rows(the, NULL);

    /* A new sale forgets what was held in the old one. */
    shop_put(the->servers[0], the->product, 10, ", \"limit_per_user\": 3");
    other.quantity = 3;
    shop_expect_buy(case_server(the, 2), &other, 201, "", NULL);
    shop_expect_buy(case_server(the, 0), &other, 409, "limit_reached", NULL);
    case_expect_rows(the, NULL);
}

static void patch(struct test_case *the, int server, const char *body)
{
    char target[64];

    snprintf(target, sizeof target, "/products/%lld", (long long)the->product);
    shop_expect(case_server(the, server), "PATCH", target, NULL, body, 200, "");
}

/* Limit and window change in the middle of a sale, and nothing that was sold is forgotten. */
static void a_patch_holds_from_its_answer_on(struct test_case *the)
{
    struct buy buy = case_buy(the, 1);

    shop_put(the->servers[0], the->product, 10, ", \"limit_per_user\": 1");
    shop_expect_buy(case_server(the, 1), &buy, 201, "", NULL);
    shop_expect_buy(case_server(the, 2), &buy, 409, "limit_reached", NULL);
    patch(the, 0, "{\"limit_per_user\": 2}");
    shop_expect_buy(case_server(the, 1), &buy, 201, "", NULL);
    shop_expect_buy(case_server(the, 2), &buy, 409, "limit_reached", NULL);
    patch(the, 1, "{\"closes_at\": \"2020-01-01T00:00:00Z\"}");
    buy.user++;
    shop_expect_buy(case_server(the, 2), &buy, 409, "sale_not_open", NULL);
    patch(the, 2, "{\"closes_at\": null, \"name\": \"still on\"}");
    shop_expect_buy(case_server(the, 0), &buy, 201, "", NULL);
    case_expect_rows(the, NULL);
    assert_int_equal(witness_sale(the->witness, the->product).sold, 3);
}

static void an_unknown_product(struct test_case *the)
{
    struct buy buy = case_buy(the, 1);

    buy.product = 999999;
    shop_expect_buy(case_server(the, 1), &buy, 404, "unknown_product", NULL);
    buy.key = "a-key";
    shop_expect_buy(case_server(the, 1), &buy, 404, "unknown_product", NULL);
}

int conformance_sale(void)
{
    static const struct case_test tests[] = {
        {"a crowd buys what there is", a_crowd_buys_what_there_is},
        {"quantities above one", quantities_above_one},
        {"windows open and close", windows_open_and_close},
        {"a user gets their limit", a_user_gets_their_limit},
        {"a patch holds from its answer on", a_patch_holds_from_its_answer_on},
        {"an unknown product", an_unknown_product},
    };
    return cases_run("sale", tests, sizeof tests / sizeof *tests, cases_patient);
}
