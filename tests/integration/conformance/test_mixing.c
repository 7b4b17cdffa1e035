/*
 * Strategies mixed on one product: those that decide on the row itself stay exact together, at full
 * speed and when each of them holds its protection for a while.
 */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"
#include "strategies/strategies.h"

enum { BUYERS = 60, STOCK = 20, PATIENCE_US = 60000000 };

/* Every strategy that may share a product, and the case's own if it may, at once. */
static void mixed_on_one_product(struct test_case *the)
{
    struct buy ways[16] = {{.strategy = "local-lock", .body = "guarded"}};
    int count = 1;
    bool mixes = the->strategy->mixes || the->body;
    struct crowd *crowd = crowd_create();

    if (mixes)
        ways[count++] = case_buy(the, 0);
    for (size_t i = 0; i < strategy_count() && count < 16; i++)
        if (strategy_at(i)->mixes && cases_is_available(the->servers[0], strategy_at(i)->name))
            ways[count++].strategy = strategy_at(i)->name;
    shop_put(the->servers[0], the->product, STOCK, NULL);
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = ways[i % count];
        buy.product = the->product;
        buy.user = case_buy(the, i + 1).user;
        shop_crowd_buy(crowd, case_server(the, i / count), &buy);
    }
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 201, "") != STOCK ||
        crowd_count(crowd, 409, "sold_out") != BUYERS - STOCK)
        fail_msg("%s", crowd_summary(crowd));
    assert_int_equal(witness_sale(the->witness, the->product).orders, STOCK);
    witness_expect_exact(the->witness, the->product);
    shop_expect_consistent(the->servers[0], the->product);
    crowd_destroy(crowd);
}

int conformance_mixing(void)
{
    static const struct case_test tests[] = {
        {"mixed on one product", mixed_on_one_product},
    };
    static const char *const slow[] = {"--work-ms", "20", "--lock-wait-ms", "30000", NULL};

    int failed = cases_run("mixing", tests, 1, cases_patient);

    return failed ? failed : cases_run("mixing_slowly", tests, 1, slow);
}
