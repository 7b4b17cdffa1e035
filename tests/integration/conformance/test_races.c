/*
 * Races made wide: with --work-ms every strategy holds its protection between decision and write.
 *
 * A strategy that promises is exact all the same. One that does not must be seen to fail: what is
 * kept to show a race and does not show it has been mended by accident, or is not run as it says.
 */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"

#include "base/clock.h"

enum { BUYERS = 24, STOCK = 8, RESTOCKS = 12, ROUNDS = 10, PATIENCE_US = 60000000 };

static struct sale sell_out(struct test_case *the, int round)
{
    shop_put(the->servers[0], the->product, STOCK, NULL);
    struct crowd *crowd = case_buyers(the, BUYERS, 1 + round * BUYERS, 0);

    crowd_finish(crowd, PATIENCE_US);
    case_expect_rows(the, crowd);
    if (the->exact && crowd_count(crowd, 201, "") != STOCK)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    return witness_sale(the->witness, the->product);
}

static void selling_races(struct test_case *the)
{
    int rounds = the->exact ? 1 : ROUNDS;
    bool oversold = false;

    for (int round = 0; round < rounds && !oversold; round++)
        oversold = sell_out(the, round).sold > STOCK;
    if (oversold == the->exact)
        fail_msg("%s", oversold ? "oversold" : "never oversold, so this proves nothing");
}

static int64_t lane_workers(const struct test_case *the, const char *strategy)
{
    return server_metric(the->servers[0], "seckill_lane_workers", strategy);
}

/* The seeds' experiment: everybody adds one, and some of it is overwritten. */
static void restocking_races(struct test_case *the)
{
    int rounds = the->exact ? 1 : ROUNDS;
    int64_t lost = 0;

    for (int round = 0; round < rounds && lost == 0; round++) {
        shop_put(the->servers[0], the->product, 0, NULL);
        case_restock(the, RESTOCKS, 1);
        struct sale sale = witness_sale(the->witness, the->product);
        assert_int_equal(sale.restocked, RESTOCKS);
        lost = RESTOCKS - sale.stock;
    }
    if ((lost > 0) == the->exact)
        fail_msg("%lld updates lost; %lld of %lld workers are at it", (long long)lost,
                 (long long)lane_workers(the, the->name), (long long)lane_workers(the, ""));
}

/* What stays as it is in a race: limits and keys, in every strategy. */
static void limits_and_keys_in_a_race(struct test_case *the)
{
    struct crowd *crowd = crowd_create();

    shop_put(the->servers[0], the->product, 100, ", \"limit_per_user\": 2");
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = case_buy(the, 1 + i % 2);
        buy.key = i % 2 ? "same" : NULL;
        shop_crowd_buy(crowd, case_server(the, i / 2), &buy);
    }
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 201, "") != 3 ||
        crowd_count(crowd, 409, "limit_reached") != BUYERS / 2 - 2 ||
        crowd_count(crowd, 200, "") != BUYERS / 2 - 1)
        fail_msg("%s", crowd_summary(crowd));
    case_expect_rows(the, crowd);
    crowd_destroy(crowd);
}

/* A new sale begins between the decisions and the writes of orders, restocks and cancels of the old
 * one. */
static void a_sale_begins_in_a_race(struct test_case *the)
{
    enum { ORDERS = 6, OLD_STOCK = 12, NEW_STOCK = 40 };
    char ids[ORDERS][SHOP_ID_SIZE];
    struct crowd *crowd = crowd_create();

    shop_put(the->servers[0], the->product, OLD_STOCK, NULL);
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = case_buy(the, 1 + i);
        shop_expect_buy(case_server(the, i), &buy, 201, "", ids[i]);
    }
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = case_buy(the, 100 + i);
        struct buy restock = case_buy(the, 0);
        restock.quantity = 1;
        shop_crowd_buy(crowd, case_server(the, i), &buy);
        shop_crowd_cancel(crowd, case_server(the, i + 1), ids[i]);
        if (i % 3 == 0)
            shop_crowd_restock(crowd, case_server(the, i), &restock);
    }
    crowd_send(crowd);
    crowd_wait(crowd, 2, clock_mono_us() + PATIENCE_US);
    shop_put(case_server(the, 1), the->product, NEW_STOCK, NULL);
    crowd_finish(crowd, PATIENCE_US);
    crowd_destroy(crowd);
    /* Cancels belong to the old sale whatever the strategy: none may have reached the new one. */
    assert_int_equal(witness_sale(the->witness, the->product).cancelled, 0);
    case_expect_rows(the, NULL);
}

int conformance_races(void)
{
    static const struct case_test tests[] = {
        {"selling races", selling_races},
        {"restocking races", restocking_races},
        {"a sale begins in a race", a_sale_begins_in_a_race},
        {"limits and keys in a race", limits_and_keys_in_a_race},
    };
    static const char *const flags[] = {"--work-ms", "20", "--lock-wait-ms", "30000", NULL};

    return cases_run("races", tests, sizeof tests / sizeof *tests, flags);
}
