/* A PUT in the middle of purchases. */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { PATIENCE_US = 60000000 };

/* Orders of ended sales that anybody can still see. */
static int64_t visible_ghosts(const struct test_case *the)
{
    char target[96];
    int64_t ghosts = 0;

    snprintf(target, sizeof target, "/orders?product_id=%lld&limit=1000", (long long)the->product);
    struct http_reply reply = server_call(case_server(the, 1), "GET", target, NULL, NULL);
    int64_t shown = http_reply_count(&reply, "orders");
    ghosts = shown - witness_number(the->witness,
                                    "SELECT count(*) FROM orders JOIN product ON product.id ="
                                    " product_id AND product.epoch = orders.epoch"
                                    " WHERE product_id = %lld",
                                    (long long)the->product);
    http_reply_fini(&reply);
    return ghosts;
}

/* Buyers, cancels and restocks run while sale after sale begins. An order answered 201 may be gone
 * with its sale; the orders that are there must belong to the newest, and add up. */
static void sales_begin_amid_purchases(struct test_case *the)
{
    enum { ROUNDS = 6, BUYERS = 24 };
    int64_t first_epoch = 0;

    shop_put(the->servers[0], the->product, 15, ", \"limit_per_user\": 2");
    first_epoch = witness_sale(the->witness, the->product).epoch;
    for (int round = 0; round < ROUNDS; round++) {
        struct crowd *crowd = crowd_create();
        char id[SHOP_ID_SIZE];
        struct buy own = case_buy(the, 9000 + round);
        struct http_reply first = shop_buy(case_server(the, round), &own);
        bool bought = first.status == 201;
        if (bought)
            http_reply_text(&first, "id", id, sizeof id);
        http_reply_fini(&first);
        for (int i = 0; i < BUYERS; i++) {
            struct buy buy = case_buy(the, 1 + i % 16);
            shop_crowd_buy(crowd, case_server(the, i), &buy);
            if (i % 8 == 0) {
                struct buy restock = case_buy(the, 0);
                restock.quantity = 1;
                shop_crowd_restock(crowd, case_server(the, i), &restock);
            }
            if (bought && i % 6 == 0)
                shop_crowd_cancel(crowd, case_server(the, i), id);
        }
        crowd_send(crowd);
        crowd_wait(crowd, 2 + 3 * round, clock_mono_us() + PATIENCE_US);
        shop_put(case_server(the, round), the->product, 15, ", \"limit_per_user\": 2");
        crowd_finish(crowd, PATIENCE_US);
        for (int i = 0; i < crowd_size(crowd); i++)
            assert_int_equal(crowd_at(crowd, i)->result, HTTP_REPLY);
        case_expect_rows(the, NULL);
        assert_int_equal(visible_ghosts(the), 0);
        crowd_destroy(crowd);
    }
    assert_int_equal(witness_sale(the->witness, the->product).epoch, first_epoch + ROUNDS);
}

/* The old sale's rows are deleted in the background, the new one's are not. */
static void an_ended_sale_is_swept_away(struct test_case *the)
{
    struct buy buy = case_buy(the, 1);

    shop_put(the->servers[0], the->product, 5, NULL);
    shop_expect_buy(case_server(the, 0), &buy, 201, "", NULL);
    shop_put(the->servers[0], the->product, 5, NULL);
    shop_expect_buy(case_server(the, 1), &buy, 201, "", NULL);
    T_UNTIL(witness_number(the->witness,
                           "SELECT count(*) FROM orders JOIN product ON product.id = product_id"
                           " WHERE product_id = %lld AND orders.epoch <> product.epoch",
                           (long long)the->product) == 0);
    assert_int_equal(witness_sale(the->witness, the->product).orders, 1);
    case_expect_rows(the, NULL);
}

int conformance_epochs(void)
{
    static const struct case_test tests[] = {
        {"sales begin amid purchases", sales_begin_amid_purchases},
        {"an ended sale is swept away", an_ended_sale_is_swept_away},
    };
    return cases_run("epochs", tests, sizeof tests / sizeof *tests, cases_patient);
}
