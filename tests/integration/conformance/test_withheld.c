/*
 * A trigger of somebody else's keeps rows from being written, and PostgreSQL says nothing of it but
 * the number of rows.
 *
 * A buyer who is told "sold" has a row and a unit all the same; no other buyer is told a final no;
 * nothing is lost; and the log says in which table. Orders accepted before wait until the trigger
 * is gone.
 */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { BUYERS = 4, STOCK = 20, CROWD = 60 };

static void withhold_what(const struct test_case *the, const char *what, const char *table)
{
    witness_run(the->witness, "DROP FUNCTION IF EXISTS withhold() CASCADE");
    witness_run(the->witness, "CREATE FUNCTION withhold() RETURNS trigger"
                              " LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'");
    witness_run(the->witness,
                "CREATE TRIGGER withhold BEFORE %s ON %s"
                " FOR EACH ROW EXECUTE FUNCTION withhold()",
                what, table);
}

static void withhold(const struct test_case *the, const char *table)
{
    withhold_what(the, "INSERT OR UPDATE OR DELETE", table);
}

static void let_go(const struct test_case *the)
{
    witness_run(the->witness, "DROP FUNCTION withhold() CASCADE");
}

/* Sold, or not done; never no, and never for good. */
static void expect_honest(const struct http_reply *reply, const char *table)
{
    static const int statuses[] = {200, 201, 202, 503, 504};
    char code[64] = "";

    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (reply->status == statuses[i])
            return;
    http_reply_text(reply, "code", code, sizeof code);
    fail_msg("%s: %d %s", table, reply->status, code);
}

static void buy_from(struct test_case *the, const char *table, const char *more, bool keyed)
{
    char ids[BUYERS][SHOP_ID_SIZE];
    int sold = 0;
    char key[16];

    shop_put(the->servers[0], the->product, STOCK, more);
    withhold(the, table);
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = case_buy(the, 1 + i);
        snprintf(key, sizeof key, "withheld-%d", i);
        buy.key = keyed ? key : NULL;
        buy.more = "&wait_ms=5000";
        struct http_reply reply = shop_send(the->servers[0], &buy);
        expect_honest(&reply, table);
        if (reply.status == 201 || reply.status == 202)
            http_reply_text(&reply, "id", ids[sold++], SHOP_ID_SIZE);
        http_reply_fini(&reply);
    }
    let_go(the);
    for (int i = 0; i < sold; i++)
        shop_wait_status(the->servers[0], ids[i], "confirmed");
    witness_expect_exact(the->witness, the->product);
    if (the->strategy->start) /* one whose end its buyer was not told may be decided yet */
        return;
    assert_int_equal(witness_sale(the->witness, the->product).orders, sold);
    if (more)
        assert_int_equal(witness_number(the->witness,
                                        "SELECT coalesce(sum(units), 0)::bigint FROM purchase"
                                        " WHERE product_id = %lld",
                                        (long long)the->product),
                         sold);
}

static bool is_meant(const struct test_case *the)
{
    return the->exact;
}

static void a_buy_is_withheld(struct test_case *the)
{
    static const char *const tables[] = {"product", "orders", "bucket"};

    for (size_t i = 0; is_meant(the) && i < sizeof tables / sizeof *tables; i++)
        buy_from(the, tables[i], NULL, false);
    /* The log leaves out what it has said often in this second. */
    if (is_meant(the) && !cases_say("kept a row from being written: product"))
        fail_msg("the log does not name the table");
}

/* Their rows are written together. */
static void a_crowd_is_withheld(struct test_case *the)
{
    if (!is_meant(the) || the->strategy->start)
        return;
    shop_put(the->servers[0], the->product, CROWD, NULL);
    withhold(the, "orders");
    struct crowd *crowd = case_buyers(the, CROWD, 1, 1);
    crowd_finish(crowd, t_patience_us());
    let_go(the);
    assert_int_equal(crowd_count(crowd, 201, ""), 0);
    case_expect_rows(the, crowd);
    crowd_destroy(crowd);
}

static void a_buy_with_key_and_limit_is_withheld(struct test_case *the)
{
    static const char *const tables[] = {"product", "orders", "purchase"};

    for (size_t i = 0; is_meant(the) && i < sizeof tables / sizeof *tables; i++)
        buy_from(the, tables[i], ", \"limit_per_user\": 2", true);
}

/* The call once while rows of the table are withheld; then until it is done. */
static void call_through(struct test_case *the, const char *table, const char *target,
                         const char *body)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    withhold(the, table);
    struct http_reply reply = server_call(the->servers[0], "POST", target, NULL, body);
    let_go(the);
    expect_honest(&reply, table);
    for (bool done = reply.status == 200; !done;) {
        http_reply_fini(&reply);
        reply = server_call(the->servers[0], "POST", target, NULL, body);
        done = reply.status == 200;
        if (!done && (reply.status < 500 || clock_mono_us() >= until_us) && reply.status != 202)
            fail_msg("%s %s: %d", table, target, reply.status);
    }
    http_reply_fini(&reply);
}

static void a_cancel_is_withheld(struct test_case *the)
{
    static const char *const tables[] = {"product", "purchase", "orders", "order_change"};
    char id[SHOP_ID_SIZE];
    char target[SHOP_ID_SIZE + 32];

    if (!is_meant(the))
        return;
    shop_put(the->servers[0], the->product, STOCK, ", \"limit_per_user\": 1");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct buy buy = case_buy(the, 1);
        buy.more = "&wait_ms=30000";
        shop_expect_buy(the->servers[0], &buy, 201, "", id);
        snprintf(target, sizeof target, "/orders/%s/cancel", id);
        call_through(the, tables[i], target, NULL);
        witness_expect_exact(the->witness, the->product);
        assert_int_equal(witness_number(the->witness,
                                        "SELECT sum(units) FROM purchase WHERE product_id = %lld",
                                        (long long)the->product),
                         0);
        assert_int_equal(witness_number(the->witness,
                                        "SELECT count(*) FROM order_change"
                                        " WHERE status = 2 AND id = '%s'",
                                        id),
                         1);
    }
}

static void a_restock_is_withheld(struct test_case *the)
{
    static const char *const tables[] = {"product", "restock"};
    char target[64];

    if (!is_meant(the))
        return;
    shop_put(the->servers[0], the->product, STOCK, NULL);
    snprintf(target, sizeof target, "/products/%lld/restock?strategy=%s", (long long)the->product,
             the->name);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        withhold(the, tables[i]);
        struct http_reply reply =
            server_call(the->servers[0], "POST", target, NULL, "{\"quantity\": 1}");
        let_go(the);
        expect_honest(&reply, tables[i]);
        http_reply_fini(&reply);
    }
    witness_expect_exact(the->witness, the->product);
}

/* A hold that is over, and the calls of the shop's owner; neither is a strategy's. */
static void a_call_of_the_owner_is_withheld(struct test_case *the)
{
    static const char put[] = "{\"stock\": 3}";
    char target[64];
    struct server *server = the->servers[0];

    if (strcmp(the->name, "conditional") != 0)
        return;
    snprintf(target, sizeof target, "/products/%lld", (long long)the->product);
    shop_put(server, the->product, STOCK, NULL);
    withhold(the, "product");
    shop_expect(server, "PUT", target, NULL, put, 503, "backend_unavailable");
    shop_expect(server, "PATCH", target, NULL, "{\"name\": \"x\"}", 503, "backend_unavailable");
    let_go(the);
    withhold(the, "retired");
    shop_expect(server, "PUT", target, NULL, put, 503, "backend_unavailable");
    let_go(the);
    assert_int_equal(witness_sale(the->witness, the->product).stock, STOCK);
    shop_expect(server, "PUT", target, NULL, put, 200, "");
}

static bool is_said(const char *of, const char *table)
{
    char line[200];

    snprintf(line, sizeof line,
             "%s: a trigger, a rule or a view has kept a row from being written: %s\n", of, table);
    return cases_say(line);
}

/* What a change of an order's state writes; the search for holds that are over is let through. */
static const struct {
    const char *what;
    const char *table;
} changes[] = {{"UPDATE OF status", "orders"}, {"INSERT", "order_change"}};
enum { CHANGES = sizeof changes / sizeof *changes };

static void hold_one(struct test_case *the, char id[SHOP_ID_SIZE])
{
    struct buy buy = case_buy(the, 1);

    buy.members = ", \"hold_s\": 3600";
    buy.more = "&wait_ms=30000";
    shop_expect_buy(the->servers[0], &buy, 201, "", id);
}

static void expect_pending(const struct test_case *the, const char *id)
{
    assert_int_equal(
        witness_number(the->witness,
                       "SELECT count(*) FROM orders WHERE id = '%s' AND status = 4"
                       " AND NOT EXISTS (SELECT FROM order_change"
                       " WHERE order_change.id = orders.id AND order_change.status <> 4)",
                       id),
        1);
}

/* Nor is a payment a strategy's. */
static void a_payment_is_withheld(struct test_case *the)
{
    char id[SHOP_ID_SIZE];

    if (strcmp(the->name, "conditional") != 0)
        return;
    shop_put(the->servers[0], the->product, STOCK, NULL);
    for (size_t i = 0; i < CHANGES; i++) {
        hold_one(the, id);
        withhold_what(the, changes[i].what, changes[i].table);
        shop_expect_pay(the->servers[0], id, 503, "backend_unavailable");
        let_go(the);
        assert_true(is_said("/orders/{order}/pay", changes[i].table));
        expect_pending(the, id);
        shop_expect_pay(the->servers[0], id, 200, "");
        witness_expect_exact(the->witness, the->product);
    }
}

static void end_hold(const struct test_case *the, const char *id)
{
    witness_run(the->witness,
                "UPDATE orders SET hold_until = clock_timestamp(), expire_at = clock_timestamp()"
                " WHERE id = '%s'",
                id);
}

/* Through each of the ways in which units come back. */
static void the_end_of_a_hold_is_withheld(struct test_case *the)
{
    char id[SHOP_ID_SIZE];
    char of[SHOP_ID_SIZE + 8];

    if (!the->strategy->cancel && !the->strategy->start && strcmp(the->name, "conditional") != 0)
        return;
    shop_put(the->servers[0], the->product, STOCK, ", \"limit_per_user\": 1");
    for (size_t i = 0; i < CHANGES; i++) {
        hold_one(the, id);
        withhold_what(the, changes[i].what, changes[i].table);
        end_hold(the, id);
        snprintf(of, sizeof of, "order %s", id);
        T_UNTIL(is_said(of, changes[i].table));
        expect_pending(the, id);
        let_go(the);
        end_hold(the, id); /* who had taken it on would come for it again in some seconds */
        shop_wait_status(the->servers[0], id, "expired");
        witness_expect_exact(the->witness, the->product);
        assert_int_equal(witness_number(the->witness,
                                        "SELECT sum(units) FROM purchase WHERE product_id = %lld",
                                        (long long)the->product),
                         0);
    }
}

/* Rows that a policy hides are not rows that are not there. */
static void a_policy_hides_the_product(struct test_case *the)
{
    struct buy buy = case_buy(the, 1);

    if (!is_meant(the) || the->strategy->start)
        return;
    shop_put(the->servers[0], the->product, STOCK, NULL);
    witness_run(the->witness, "ALTER TABLE product ENABLE ROW LEVEL SECURITY");
    witness_run(the->witness, "ALTER TABLE product FORCE ROW LEVEL SECURITY");
    shop_expect_buy(the->servers[0], &buy, 503, "backend_unavailable", NULL);
    witness_run(the->witness, "ALTER TABLE product NO FORCE ROW LEVEL SECURITY");
    witness_run(the->witness, "ALTER TABLE product DISABLE ROW LEVEL SECURITY");
    shop_expect_buy_soon(the->servers[0], &buy, 201);
    case_expect_rows(the, NULL);
}

int conformance_withheld(void)
{
    static const struct case_test tests[] = {
        {"a buy is withheld", a_buy_is_withheld},
        {"a buy with key and limit is withheld", a_buy_with_key_and_limit_is_withheld},
        {"a crowd is withheld", a_crowd_is_withheld},
        {"a cancel is withheld", a_cancel_is_withheld},
        {"a restock is withheld", a_restock_is_withheld},
        {"a call of the owner is withheld", a_call_of_the_owner_is_withheld},
        {"a payment is withheld", a_payment_is_withheld},
        {"the end of a hold is withheld", the_end_of_a_hold_is_withheld},
        {"a policy hides the product", a_policy_hides_the_product},
    };

    static const char *const flags[] = {"--lock-wait-ms", "5000", NULL};

    return cases_run("withheld", tests, sizeof tests / sizeof *tests, flags);
}
