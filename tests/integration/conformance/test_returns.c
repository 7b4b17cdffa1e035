/* What gives stock back or adds to it: cancels, which are exact in every strategy, and restocks. */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"

#include <stdio.h>
#include <string.h>

enum { CANCELS = 50, PATIENCE_US = 60000000 };

static void expect_cancel(struct server *server, const char *id, int status, const char *code)
{
    char target[96];

    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    shop_expect(server, "POST", target, NULL, NULL, status, code);
}

static void many_cancels_return_once(struct test_case *the)
{
    char id[SHOP_ID_SIZE];
    struct crowd *crowd = crowd_create();
    struct buy buy = case_buy(the, 1);

    buy.quantity = 3;
    shop_put(the->servers[0], the->product, 3, ", \"limit_per_user\": 3");
    shop_expect_buy(case_server(the, 0), &buy, 201, "", id);
    shop_expect_buy(case_server(the, 1), &buy, 409, "sold_out", NULL);
    for (int i = 0; i < CANCELS; i++)
        shop_crowd_cancel(crowd, case_server(the, i), id);
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 200, "") != CANCELS)
        fail_msg("%s", crowd_summary(crowd));
    for (int i = 0; i < CANCELS; i++) {
        char status[16];
        http_reply_text(&crowd_at(crowd, i)->reply, "status", status, sizeof status);
        assert_string_equal(status, "cancelled");
    }
    crowd_destroy(crowd);
    struct sale sale = witness_sale(the->witness, the->product);
    assert_int_equal(sale.stock, 3);
    assert_int_equal(sale.sold, 0);
    assert_int_equal(sale.cancelled, 1);
    case_expect_rows(the, NULL);

    case_expect_back_once(the, &buy);
}

/* Cancels and buys of one product at once: in a strategy that is right, every unit is somewhere. */
static void cancels_amid_purchases(struct test_case *the)
{
    enum { ORDERS = 20 };
    char ids[ORDERS][SHOP_ID_SIZE];
    struct crowd *crowd = crowd_create();

    shop_put(the->servers[0], the->product, ORDERS + 10, NULL);
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = case_buy(the, 1 + i);
        shop_expect_buy(case_server(the, i), &buy, 201, "", ids[i]);
    }
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = case_buy(the, 100 + i);
        shop_crowd_cancel(crowd, case_server(the, i), ids[i]);
        shop_crowd_buy(crowd, case_server(the, i + 1), &buy);
    }
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 200, ""), ORDERS);
    assert_int_equal(witness_sale(the->witness, the->product).cancelled, ORDERS);
    case_expect_rows(the, crowd);
    crowd_destroy(crowd);
}

static void a_cancel_of_nothing(struct test_case *the)
{
    char id[SHOP_ID_SIZE];
    struct buy buy = case_buy(the, 1);

    expect_cancel(case_server(the, 0), "01930000-0000-7000-8000-000000000000", 404, "not_found");
    shop_put(the->servers[0], the->product, 5, NULL);
    shop_expect_buy(case_server(the, 0), &buy, 201, "", id);
    shop_put(the->servers[0], the->product, 5, NULL);
    expect_cancel(case_server(the, 1), id, 404, "not_found");
    assert_int_equal(witness_sale(the->witness, the->product).stock, 5);
    case_expect_rows(the, NULL);
}

static void a_cancelled_order_keeps_its_key(struct test_case *the)
{
    char id[SHOP_ID_SIZE];
    char status[16];
    struct buy buy = case_buy(the, 1);

    buy.key = "cancelled";
    shop_put(the->servers[0], the->product, 5, NULL);
    shop_expect_buy(case_server(the, 0), &buy, 201, "", id);
    expect_cancel(case_server(the, 1), id, 200, "");
    struct http_reply reply = shop_buy(case_server(the, 2), &buy);
    assert_int_equal(reply.status, 200);
    http_reply_text(&reply, "status", status, sizeof status);
    assert_string_equal(status, "cancelled");
    http_reply_fini(&reply);
    assert_int_equal(witness_sale(the->witness, the->product).stock, 5);
}

static void restocks_at_once_add_up(struct test_case *the)
{
    enum { RESTOCKS = 40 };

    shop_put(the->servers[0], the->product, 0, NULL);
    case_restock(the, RESTOCKS, 2);
    struct sale sale = witness_sale(the->witness, the->product);
    assert_int_equal(sale.restocked, 2 * RESTOCKS);
    if (the->exact)
        assert_int_equal(sale.stock, 2 * RESTOCKS);
    case_expect_rows(the, NULL);
}

static void restocks_amid_purchases(struct test_case *the)
{
    struct crowd *crowd = crowd_create();

    shop_put(the->servers[0], the->product, 10, NULL);
    for (int i = 0; i < 40; i++) {
        struct buy restock = case_buy(the, 0);
        struct buy buy = case_buy(the, 1 + i);
        restock.quantity = 1;
        shop_crowd_buy(crowd, case_server(the, i), &buy);
        if (i % 4 == 0)
            shop_crowd_restock(crowd, case_server(the, i + 1), &restock);
    }
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 200, ""), 10);
    if (the->exact)
        assert_true(crowd_count(crowd, 201, "") >= 10 && crowd_count(crowd, 201, "") <= 20);
    case_expect_rows(the, crowd);
    crowd_destroy(crowd);
}

static void a_restock_with_a_key_adds_once(struct test_case *the)
{
    struct crowd *crowd = crowd_create();
    struct buy restock = case_buy(the, 0);

    restock.quantity = 4;
    restock.key = "delivery";
    shop_put(the->servers[0], the->product, 1, NULL);
    for (int i = 0; i < 10; i++)
        shop_crowd_restock(crowd, case_server(the, i), &restock);
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 200, "") != 10)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    shop_expect_restock(case_server(the, 1), &restock, 200, "");
    assert_int_equal(witness_sale(the->witness, the->product).stock, 5);
    assert_int_equal(witness_sale(the->witness, the->product).restocked, 4);
    restock.quantity = 5;
    shop_expect_restock(case_server(the, 2), &restock, 409, "idempotency_mismatch");
    assert_int_equal(witness_sale(the->witness, the->product).stock, 5);
    case_expect_rows(the, NULL);

    /* A new sale, a new delivery. */
    shop_put(the->servers[0], the->product, 1, NULL);
    shop_expect_restock(case_server(the, 0), &restock, 200, "");
    assert_int_equal(witness_sale(the->witness, the->product).stock, 6);

    restock.product = 999999;
    shop_expect_restock(case_server(the, 0), &restock, 404, "unknown_product");
}

int conformance_returns(void)
{
    static const struct case_test tests[] = {
        {"many cancels return once", many_cancels_return_once},
        {"cancels amid purchases", cancels_amid_purchases},
        {"a cancel of nothing", a_cancel_of_nothing},
        {"a cancelled order keeps its key", a_cancelled_order_keeps_its_key},
        {"restocks at once add up", restocks_at_once_add_up},
        {"restocks amid purchases", restocks_amid_purchases},
        {"a restock with a key adds once", a_restock_with_a_key_adds_once},
    };
    return cases_run("returns", tests, sizeof tests / sizeof *tests, cases_patient);
}
