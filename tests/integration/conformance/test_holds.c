/*
 * Orders that wait to be paid, in every strategy: what a hold takes, what a payment keeps, what the
 * end of the hold gives back, and what becomes of the two when they meet. At every step each unit
 * is in the stock, sold, or held; and what is promised is promised of holds, too.
 *
 * Where a test wants a hold to end it moves its end in the row, so that no test waits for the time;
 * one waits for a true second.
 */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define HOLD        ", \"hold_s\": 3600"
#define PATIENCE_US t_patience_us()

/* An order of this user's, whose answer says so much. */
static void expect_hold(struct test_case *the, int64_t user, int64_t quantity, const char *members,
                        const char *status, char id[SHOP_ID_SIZE])
{
    char got[16];
    char until[40] = "";
    struct buy buy = case_buy(the, user);

    buy.quantity = quantity;
    buy.members = members;
    struct http_reply reply = shop_buy(case_server(the, (int)user), &buy);
    if (reply.status != 201)
        fail_msg("%d %s", reply.status, reply.body);
    http_reply_text(&reply, "status", got, sizeof got);
    assert_string_equal(got, status);
    bool pending = strcmp(status, "pending") == 0;
    assert_int_equal(strstr(reply.body, "\"hold_until\"") != NULL, pending);
    if (pending)
        http_reply_text(&reply, "hold_until", until, sizeof until);
    http_reply_text(&reply, "id", id, SHOP_ID_SIZE);
    http_reply_fini(&reply);
    /* What the answer says is what the row has. */
    if (pending)
        assert_int_equal(
            witness_number(the->witness,
                           "SELECT count(*) FROM orders WHERE id = '%s' AND hold_until = '%s'"
                           " AND hold_until > created_at",
                           id, until),
            1);
}

/* The hold is over, by PostgreSQL's clock. */
static void end_hold(struct test_case *the, const char *id)
{
    witness_run(the->witness,
                "UPDATE orders SET hold_until = clock_timestamp(), expire_at = clock_timestamp()"
                " WHERE id = '%s' AND status = 4",
                id);
}

static void expect_cancel(struct server *server, const char *id, int status, const char *code)
{
    char target[96];

    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    shop_expect(server, "POST", target, NULL, NULL, status, code);
}

/* By the rows and by the server's audit. */
static void expect_units(struct test_case *the, int64_t stock, int64_t held, int64_t sold)
{
    char target[64];
    struct sale sale = witness_sale(the->witness, the->product);

    assert_int_equal(sale.held, held);
    assert_int_equal(sale.sold, sold);
    assert_int_equal(sale.stock, stock);
    snprintf(target, sizeof target, "/products/%lld/audit", (long long)the->product);
    struct http_reply reply = server_call(the->servers[0], "GET", target, NULL, NULL);
    assert_int_equal(http_reply_int(&reply, "held"), held);
    assert_int_equal(http_reply_int(&reply, "sold"), sold);
    http_reply_fini(&reply);
    case_expect_rows(the, NULL);
}

static void a_hold_is_paid(struct test_case *the)
{
    char id[SHOP_ID_SIZE];
    struct buy buy = case_buy(the, 2);

    shop_put(the->servers[0], the->product, 3, ", \"limit_per_user\": 3");
    expect_hold(the, 1, 2, HOLD, "pending", id);
    expect_units(the, 1, 2, 0);
    buy.quantity = 2;
    shop_expect_buy(case_server(the, 1), &buy, 409, "sold_out", NULL);
    shop_expect_pay(case_server(the, 1), id, 200, "");
    expect_units(the, 1, 0, 2);
    for (int i = 0; i < 3; i++) /* the same again */
        shop_expect_pay(case_server(the, i), id, 200, "");
    shop_wait_status(case_server(the, 0), id, "confirmed");
    expect_units(the, 1, 0, 2);
    expect_cancel(case_server(the, 2), id, 200, "");
    shop_expect_pay(case_server(the, 0), id, 409, "not_payable");
    expect_units(the, 3, 0, 0);
}

/* The one that waits for the time. */
static void a_hold_ends(struct test_case *the)
{
    char id[SHOP_ID_SIZE];
    struct buy buy = case_buy(the, 1);

    shop_put(the->servers[0], the->product, 2, ", \"limit_per_user\": 2");
    buy.quantity = 2;
    buy.members = ", \"hold_s\": 1";
    shop_expect_buy(case_server(the, 0), &buy, 201, "", id);
    shop_wait_status(case_server(the, 1), id, "expired");
    assert_int_equal(witness_number(the->witness,
                                    "SELECT count(*) FROM order_change, orders WHERE orders.id ="
                                    " order_change.id AND orders.id = '%s' AND"
                                    " order_change.status = 5 AND hold_until < clock_timestamp()",
                                    id),
                     1);
    expect_units(the, 2, 0, 0);
    shop_expect_pay(case_server(the, 2), id, 409, "expired");
    expect_cancel(case_server(the, 0), id, 409, "not_cancellable");
    expect_units(the, 2, 0, 0);
    buy.members = NULL;
    case_expect_back_once(the, &buy);
}

/* Orders that are cancelled, paid and left alone, all at once, and buyers of what comes back. */
static void many_holds_end_once(struct test_case *the)
{
    enum { ORDERS = 12 };
    char ids[ORDERS][SHOP_ID_SIZE];
    struct crowd *cancels = crowd_create();

    shop_put(the->servers[0], the->product, ORDERS, ", \"limit_per_user\": 1");
    for (int i = 0; i < ORDERS; i++)
        expect_hold(the, 1 + i, 1, HOLD, "pending", ids[i]);
    expect_units(the, 0, ORDERS, 0);
    for (int i = 0; i < ORDERS; i++)
        if (i % 3 == 0)
            shop_expect_pay(case_server(the, i), ids[i], 200, "");
    for (int i = 0; i < ORDERS; i++)
        for (int twice = 0; i % 3 == 1 && twice < 2; twice++)
            shop_crowd_cancel(cancels, case_server(the, i + twice), ids[i]);
    crowd_send(cancels);
    for (int i = 0; i < ORDERS; i++)
        if (i % 3 == 2)
            end_hold(the, ids[i]);
    crowd_finish(cancels, PATIENCE_US);
    assert_int_equal(crowd_count(cancels, 200, ""), 2 * ORDERS / 3);
    crowd_destroy(cancels);
    for (int i = 2; i < ORDERS; i += 3)
        shop_wait_status(case_server(the, i), ids[i], "expired");
    struct sale sale = witness_sale(the->witness, the->product);
    assert_int_equal(sale.pending, 0);
    assert_int_equal(sale.orders, ORDERS / 3);
    assert_int_equal(sale.cancelled, ORDERS / 3);
    assert_int_equal(sale.expired, ORDERS / 3);
    case_expect_rows(the, NULL);
}

/* Each order is paid by three instances at the time at which its hold ends, earlier or later by
 * some milliseconds: whichever is first, both sides say the same of it. */
static void a_payment_meets_the_end(struct test_case *the)
{
    enum { ORDERS = 16, PAYMENTS = 3 };
    char ids[ORDERS][SHOP_ID_SIZE];
    struct crowd *crowd = crowd_create();
    int paid = 0;

    shop_put(the->servers[0], the->product, ORDERS, NULL);
    for (int i = 0; i < ORDERS; i++)
        expect_hold(the, 1 + i, 1, HOLD, "pending", ids[i]);
    for (int i = 0; i < ORDERS; i++)
        for (int j = 0; j < PAYMENTS; j++)
            shop_crowd_pay(crowd, case_server(the, i + j), ids[i]);
    witness_run(the->witness,
                "UPDATE orders SET hold_until = at, expire_at = at FROM (SELECT id AS of,"
                " clock_timestamp() + random() * interval '30 ms' AS at FROM orders WHERE"
                " product_id = %lld AND status = 4) AS ends WHERE id = of",
                (long long)the->product);
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 200, "") + crowd_count(crowd, 409, "expired"),
                     ORDERS * PAYMENTS);
    for (int i = 0; i < ORDERS; i++) {
        int wins = 0;
        for (int j = 0; j < PAYMENTS; j++)
            wins += crowd_at(crowd, i * PAYMENTS + j)->reply.status == 200;
        shop_wait_status(case_server(the, i), ids[i], wins > 0 ? "confirmed" : "expired");
        paid += wins > 0;
    }
    crowd_destroy(crowd);
    expect_units(the, ORDERS - paid, 0, paid);
}

static void a_key_finds_its_hold(struct test_case *the)
{
    static const char *const states[] = {"pending", "confirmed"};
    char id[SHOP_ID_SIZE];
    char got[SHOP_ID_SIZE];
    struct buy buy = case_buy(the, 1);

    shop_put(the->servers[0], the->product, 5, NULL);
    buy.members = HOLD;
    buy.key = "held";
    shop_expect_buy(case_server(the, 0), &buy, 201, "", id);
    for (int i = 0; i < 2; i++) {
        struct http_reply reply = shop_buy(case_server(the, 1 + i), &buy);
        assert_int_equal(reply.status, 200);
        http_reply_text(&reply, "id", got, sizeof got);
        assert_string_equal(got, id);
        http_reply_text(&reply, "status", got, sizeof got);
        assert_string_equal(got, states[i]);
        assert_int_equal(strstr(reply.body, "hold_until") != NULL, i == 0);
        http_reply_fini(&reply);
        shop_expect_pay(case_server(the, i), id, 200, "");
    }
    /* And when it is over: nobody gets a second one by the same key. */
    buy.key = "ended";
    shop_expect_buy(case_server(the, 0), &buy, 201, "", id);
    end_hold(the, id);
    shop_wait_status(case_server(the, 1), id, "expired");
    struct http_reply reply = shop_buy(case_server(the, 2), &buy);
    assert_int_equal(reply.status, 200);
    http_reply_text(&reply, "status", got, sizeof got);
    assert_string_equal(got, "expired");
    http_reply_fini(&reply);
    expect_units(the, 4, 0, 1);
}

/* The order's word, else the product's; a PATCH is in force after its answer. */
static void whose_hold_it_is(struct test_case *the)
{
    char id[SHOP_ID_SIZE];
    char target[64];

    snprintf(target, sizeof target, "/products/%lld", (long long)the->product);
    shop_put(the->servers[0], the->product, 10, ", \"hold_s\": 3600");
    expect_hold(the, 1, 1, NULL, "pending", id);
    expect_hold(the, 2, 1, ", \"hold_s\": 0", "confirmed", id);
    shop_expect(case_server(the, 1), "PATCH", target, NULL, "{\"hold_s\": 0}", 200, "");
    expect_hold(the, 3, 1, NULL, "confirmed", id);
    expect_hold(the, 4, 1, HOLD, "pending", id);
    shop_expect(case_server(the, 2), "PATCH", target, NULL, "{\"hold_s\": 60}", 200, "");
    expect_hold(the, 5, 1, NULL, "pending", id);
    shop_expect(case_server(the, 0), "PATCH", target, NULL, "{\"hold_s\": null}", 200, "");
    expect_hold(the, 6, 1, NULL, "confirmed", id);
    expect_units(the, 4, 3, 3);
    /* A new sale has none, and its predecessor's are gone. */
    expect_hold(the, 8, 1, HOLD, "pending", id);
    shop_put(the->servers[0], the->product, 10, NULL);
    shop_expect_pay(case_server(the, 1), id, 404, "not_found");
    expect_hold(the, 7, 1, NULL, "confirmed", id);
    expect_units(the, 9, 0, 1);
}

int conformance_holds(void)
{
    static const struct case_test tests[] = {
        {"a hold is paid", a_hold_is_paid},
        {"a hold ends", a_hold_ends},
        {"many holds end once", many_holds_end_once},
        {"a payment meets the end", a_payment_meets_the_end},
        {"a key finds its hold", a_key_finds_its_hold},
        {"whose hold it is", whose_hold_it_is},
    };
    return cases_run("holds", tests, sizeof tests / sizeof *tests, cases_patient);
}
