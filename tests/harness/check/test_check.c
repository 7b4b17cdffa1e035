/* The checker on hand-made ledgers: a clean one passes, and what is wrong with units is flagged by
 * the invariant that it breaks and by no other. */
#include "lib/t.h"

#include "harness/check/hand.h"

#include <stdlib.h>
#include <string.h>

static const struct exact_limits limits = {.ops = 200, .budget = 200000};

static struct scene scenes[] = {
    {"test_a_clean_one_passes", /* it has a 202 */
     CLEAN_SALE "clean; is confirmed 3; is info 2; is not_tried 1"},
    {"test_nothing_sold_is_no_pass",
     "begin 0; refuse 1 k 10 20; run; is proved_nothing 1; is sold_out 1"},
    /* By its rows nothing is missing in the end: the restock came later; or it may have been there
     * in time. */
    {"test_oversold_for_a_while", "begin 1; sell a 1 - 10 20; sell b 2 - 30 40; restock 50 60 1; "
                                  "refill 1; finds OVERSOLD 1 1; last from 35; clean"},
    {"test_limit", "begin 5; limit 1; sell a 1 k1 10 20; sell b 1 k2 10 20; sell c 2 k3 10 20; "
                   "finds LIMIT 1 1; is shown 2; ends b cancelled; cancel b 30 40 200; clean"},
    {"test_undersold", "begin 2; sell a 1 k1 10 20; refuse 2 k2 30 40; refuse 3 k3 30 40; "
                       "finds UNDERSOLD 1 1; is shown 2; counts NOT_LINEARIZABLE 1"},
    /* It may have been taken already when the refusal was made. */
    {"test_false_sold_out", "begin 2; sell a 1 k1 10 20; refuse 2 k2 30 40; sell b 3 k3 50 60; "
                            "finds FALSE_SOLD_OUT 1 0; is sold_out 1; last from 35; clean"},
    /* Somebody who was not sold anything may have had it meanwhile; of a buy that did nothing
     * nobody should know; and one may go on behind its answer. */
    {"test_a_unit_in_somebody_s_hands",
     "begin 2; sell a 1 k1 10 20; buy 4 k4 25 45; answer 202; names c queued; refuse 2 k2 30 40; "
     "sell b 3 k3 50 60; row c 4 k4 failed; clean; "
     "begin 2; sell a 1 k1 10 20; buy 4 k4 25 45; answer 503 lease_lost; refuse 2 k2 30 40; "
     "sell b 3 k3 50 60; finds NOT_LINEARIZABLE 1 0; "
     "begin 2; sell a 1 k1 10 20; buy 4 k4 21 25; answer 504 outcome_unknown; "
     "refuse 2 k2 30 40; sell b 3 k3 50 60; finds NOT_LINEARIZABLE 1 0"},
    {"test_a_feed_that_differs", CLEAN_SALE "order 0 told pending; finds FEED 1 0"},
    /* What no bound shows. The refusal was right, if the slow sale had taken the one unit before;
     * but then nothing was there for the quick one, which had ended before the restock was sent,
     * and that adds nothing to it. */
    {"test_only_the_search_sees_it",
     "begin 1; sell a 1 - 10 100; refuse 2 - 20 30; sell b 3 - 40 50; restock 60 70 1; refill 1; "
     "finds NOT_LINEARIZABLE 1 0; is shown 3; last from 45; clean; is exact 1"},
};

SCENES(scenes)

TEST(another_sale_is_not_judged)
{
    happens(CLEAN_SALE);
    hand.product.epoch = 10;
    assert_false(check_run(&hand.result, &hand.ledger, &hand.rows, &limits, &hand.error));
    t_says(hand.error.text, "again");
    hand.product.epoch = 9;
    hand.product.initial = 3;
    assert_false(check_run(&hand.result, &hand.ledger, &hand.rows, &limits, &hand.error));
    hand.rows.products_count = 0;
    assert_false(check_run(&hand.result, &hand.ledger, &hand.rows, &limits, &hand.error));
}

static void says(enum finding_kind kind, const char *wanted)
{
    char said[200];
    findings_say(&hand.result.findings, kind, said, sizeof said);
    assert_string_equal(said, wanted);
}

TEST(conservation)
{
    happens(CLEAN_SALE "left 3; finds CONSERVATION 1 3");
    says(FINDING_CONSERVATION, "3 units: sold that the stock never lost");
    happens("left -4; finds CONSERVATION 1 1");
    says(FINDING_CONSERVATION, "1 unit: gone that nobody bought");
}

/* 20 buyers, one unit. The stock's row was written by each, as a lost update leaves it. */
TEST(oversold)
{
    begin(1);
    for (int i = 0; i < 20; i++) {
        char id[] = {(char)('a' + i), '\0'};
        sell(id, i + 1, NULL, 10, 20 + i);
    }
    /* The two that show it: the second is one too many. */
    happens("finds OVERSOLD 1 19; is shown 2; counts NOT_LINEARIZABLE 1");
    assert_int_equal(hand.result.findings.items[0].ops[0]->end_us, 21);
}

/* Rows of two cells: what an id names is where its order stands, and a product is sold in one. */
TEST(wrong_cell)
{
    happens("begin 2; sell 01900000-0000-7000-8000-010000000000 1 k1 10 20; "
            "sell 01900000-0000-7000-8000-020000000000 2 k2 10 20; clean");
    hand.orders[0].cell = 1;
    hand.orders[1].cell = 2;
    is_clean();
    hand.orders[1].cell = 1;
    finds(FINDING_CELL, 1, 0);
    hand.orders[1].cell = 2;

    struct row_product stray = {.id = HAND_PRODUCT, .epoch = 3, .cell = 2};
    hand.rows.strays = &stray;
    hand.rows.strays_count = 1;
    is_clean(); /* it has moved away */
    stray.initial = 5;
    finds(FINDING_CELL, 1, 0);
    hand.rows.strays_count = 0;
}

TEST(residue)
{
    happens(CLEAN_SALE);
    hand.rows.idle_transactions = 2;
    finds(FINDING_RESIDUE, 1, 0);
    hand.rows.prepared = 1;
    hand.rows.waiting = 1;
    hand.rows.leaseless = 1;
    finds(FINDING_RESIDUE, 4, 0);
}

TEST(a_cache_that_differs)
{
    happens(CLEAN_SALE);
    struct row_mirror mirror = {.product = HAND_PRODUCT, .stock = hand.product.stock};
    hand.rows.mirrors = &mirror;
    hand.rows.mirrors_count = 1;
    is_clean();
    mirror.stock -= 2;
    finds(FINDING_CACHE, 1, 2);
    mirror.reserved = 2; /* as a reservation that nobody decides */
    finds(FINDING_RESIDUE, 1, 2);
    hand.rows.mirrors_count = 0;
}

TEST(a_search_that_gives_up_is_no_pass)
{
    const struct exact_limits little = {.ops = 200, .budget = 1};
    happens("begin 5; sell a 1 - 10 20; sell b 2 - 10 20; clean");
    check_result_fini(&hand.result);
    assert_true(check_run(&hand.result, &hand.ledger, &hand.rows, &little, &hand.error));
    assert_int_equal(hand.result.verdict, CHECK_PROVED_NOTHING);
    assert_int_equal(hand.result.exact[EXACT_UNKNOWN], 1);
}

TEST(the_smallest_case_comes_first)
{
    happens("begin 9; limit 1; sell a 1 - 10 20; sell b 1 - 10 20; sell c 1 - 10 20; "
            "sell d 2 - 10 20; sell e 2 - 10 20; finds LIMIT 2 3; is shown 2");
    assert_int_equal(hand.result.findings.items[1].ops_count, 3);
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    check_print(to, &hand.result, &hand.ledger, 1);
    fclose(to);
    t_says(text, "A9");
    t_says(text, "user 2 has 2 units");
    assert_null(strstr(text, "user 1 has 3 units"));
    t_says(text, "and 1 more");
    t_says(text, "VIOLATED");
    free(text);
}

TEST_GROUP(NULL, hand_tear_down)
