/* A shop's claims by hand-made histories: each is seen to hold, to break with the example that
 * shows it, and to be left unchecked for its reason. */
#include "harness/shop/hand_shop.h"

#include "lib/t.h"

#include <string.h>

static struct hand_shop shop;
static struct shop_judgement judged;

static int begin(void **state)
{
    (void)state;
    hand_shop_init(&shop);
    return 0;
}

static int end(void **state)
{
    (void)state;
    hand_shop_fini(&shop);
    return 0;
}

static void judge(void)
{
    struct error error;
    assert_true(claims_judge(&shop.target, &shop.history, &shop.books, &judged, &error));
}

/* Judges, and sees what became of one claim; `said` must stand in its text. */
static void expect(enum shop_claim claim, enum claim_result result, const char *said)
{
    judge();
    const struct claim_finding *finding = &judged.claims[claim];
    if (finding->result != result || !strstr(finding->text, said))
        fail_msg("claim %d: %s: %s", (int)claim, claim_result_name(finding->result), finding->text);
    if (result == CLAIM_BROKEN)
        assert_int_equal(judged.verdict, SHOP_VERDICT_BROKEN);
}

/* Two units sold to two users of whom one asked again, by its key and by another, a third told sold
 * out: all of it right. */
static void sell_rightly(void)
{
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_repeat(&shop, "1", SHOP_SOLD, "a");
    hand_shop_told(&shop, "1", SHOP_REFUSED, NULL);
    hand_shop_told(&shop, "2", SHOP_SOLD, "b");
    hand_shop_told(&shop, "3", SHOP_SOLD_OUT, NULL);
    hand_shop_row(&shop, "a", "1", 1);
    hand_shop_row(&shop, "b", "2", 1);
    hand_shop_left(&shop, 0);
}

static void test_a_right_sale_keeps_every_claim(void **state)
{
    (void)state;
    sell_rightly();
    judge();
    for (size_t i = 0; i < SHOP_CLAIMS; i++) {
        if (judged.claims[i].result != CLAIM_KEPT)
            fail_msg("claim %zu: %s", i, judged.claims[i].text);
    }
    assert_int_equal(judged.verdict, SHOP_VERDICT_KEPT);
    assert_string_equal(judged.why, "7 of 7 claims were checked, and all of these hold");
}

static void test_more_units_than_stock(void **state)
{
    (void)state;
    sell_rightly();
    hand_shop_told(&shop, "4", SHOP_SOLD, "c");
    hand_shop_row(&shop, "c", "4", 1);
    expect(SHOP_NEVER_OVERSOLD, CLAIM_BROKEN,
           "3 units in 3 orders, 2 were on sale: 1 too many, the first of them order c of user 4");
    assert_int_equal(judged.claims[SHOP_CONSERVED].result, CLAIM_BROKEN);
}

static void test_units_count_not_orders(void **state)
{
    (void)state;
    shop.target.limit = 0;
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_row(&shop, "a", "1", 3);
    expect(SHOP_NEVER_OVERSOLD, CLAIM_BROKEN, "3 units in 1 orders");
}

static void test_a_stock_below_nothing(void **state)
{
    (void)state;
    sell_rightly();
    hand_shop_left(&shop, -1);
    expect(SHOP_NEVER_OVERSOLD, CLAIM_BROKEN, "-1 are left");
}

static void test_more_buyers_told_than_there_was_stock(void **state)
{
    (void)state;
    sell_rightly();
    hand_shop_told(&shop, "4", SHOP_SOLD, "c");
    expect(SHOP_NEVER_OVERSOLD, CLAIM_BROKEN, "3 buyers were told that they bought");
}

static void test_the_same_order_told_twice_is_one(void **state)
{
    (void)state;
    sell_rightly();
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_told(&shop, "2", SHOP_SOLD, "b");
    expect(SHOP_NEVER_OVERSOLD, CLAIM_KEPT, "2 units");
}

static void test_a_stock_that_lasts_shows_no_oversale(void **state)
{
    (void)state;
    sell_rightly();
    shop.target.stock = 5;
    hand_shop_left(&shop, 3);
    expect(SHOP_NEVER_OVERSOLD, CLAIM_NOT_CHECKED, "2 of 5 units were sold");
    shop.target.claims[SHOP_NOTHING_LEFT] = false;
    judge();
    assert_int_equal(judged.verdict, SHOP_VERDICT_INVALID);
    assert_non_null(strstr(judged.why, "did not run out"));
}

static void test_a_user_with_two(void **state)
{
    (void)state;
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_told(&shop, "1", SHOP_SOLD, "b");
    hand_shop_row(&shop, "a", "1", 1);
    hand_shop_row(&shop, "b", "1", 1);
    expect(SHOP_ONE_A_USER, CLAIM_BROKEN, "1 users have more than 1; user 1 has 2: orders a and b");
    shop.target.limit = 2;
    expect(SHOP_ONE_A_USER, CLAIM_NOT_CHECKED, "asked for more than 2 by another key");
    hand_shop_told(&shop, "1", SHOP_REFUSED, NULL);
    expect(SHOP_ONE_A_USER, CLAIM_KEPT, "no user has more than 2; 1 purchases");
    shop.target.limit = 0;
    expect(SHOP_ONE_A_USER, CLAIM_NOT_CHECKED, "no limit");
}

/* What puts no limit to the test: the same key again, what was asked before the first was sold, and
 * what came when nothing was left. */
static void test_what_tries_no_limit(void **state)
{
    (void)state;
    hand_shop_told(&shop, "1", SHOP_REFUSED, NULL);
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_repeat(&shop, "1", SHOP_REFUSED, NULL);
    hand_shop_told(&shop, "2", SHOP_SOLD, "b");
    hand_shop_told(&shop, "1", SHOP_SHED, NULL);
    hand_shop_told(&shop, "3", SHOP_SOLD_OUT, NULL);
    hand_shop_told(&shop, "2", SHOP_REFUSED, NULL);
    hand_shop_row(&shop, "a", "1", 1);
    hand_shop_row(&shop, "b", "2", 1);
    expect(SHOP_ONE_A_USER, CLAIM_NOT_CHECKED, "nobody who had been told `sold`");
}

/* One order that names nobody hides no user who has two. */
static void test_a_user_with_two_beside_one_without_a_user(void **state)
{
    (void)state;
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_row(&shop, "a", "1", 1);
    hand_shop_row(&shop, "c", NULL, 1);
    expect(SHOP_ONE_A_USER, CLAIM_NOT_CHECKED, "does not name the orders' users");
    hand_shop_row(&shop, "b", "1", 1);
    expect(SHOP_ONE_A_USER, CLAIM_BROKEN, "user 1 has 2: orders a and b");
}

/* A target whose pointer to the order's id meets nothing. */
static void test_no_answer_has_its_order(void **state)
{
    (void)state;
    static char pointer[] = "/orderid";
    static struct shop_rule rule = {.meaning = SHOP_SOLD, .order = pointer};
    hand_shop_told(&shop, "1", SHOP_SOLD, NULL);
    hand_shop_told(&shop, "2", SHOP_SOLD, NULL);
    hand_shop_row(&shop, "a", "1", 1);
    hand_shop_row(&shop, "b", "2", 1);
    expect(SHOP_SOLD_HAS_ITS_ROW, CLAIM_KEPT, "0 by its id, 2 by its user");
    shop.target.rules = &rule;
    shop.target.rule_count = 1;
    expect(SHOP_SOLD_HAS_ITS_ROW, CLAIM_NOT_CHECKED,
           "none of 2 `sold` answers has anything at /orderid");
}

static void test_sold_without_an_order(void **state)
{
    (void)state;
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_told(&shop, "2", SHOP_SOLD, "b");
    hand_shop_row(&shop, "a", "1", 1);
    expect(SHOP_SOLD_HAS_ITS_ROW, CLAIM_BROKEN,
           "1 of 2 answers `sold` have no order; user 2 was told order b: there is no such order");
}

static void test_sold_without_an_order_by_user(void **state)
{
    (void)state;
    hand_shop_told(&shop, "1", SHOP_SOLD, NULL);
    hand_shop_told(&shop, "2", SHOP_SOLD, NULL);
    hand_shop_row(&shop, NULL, "1", 1);
    expect(SHOP_SOLD_HAS_ITS_ROW, CLAIM_BROKEN,
           "user 2 was told order (no id): its user has no order");
    hand_shop_row(&shop, NULL, "2", 1);
    expect(SHOP_SOLD_HAS_ITS_ROW, CLAIM_KEPT, "2 answers");
}

static void test_sold_another_users_order(void **state)
{
    (void)state;
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_told(&shop, "2", SHOP_SOLD, "a");
    hand_shop_row(&shop, "a", "1", 1);
    hand_shop_row(&shop, "b", "2", 1);
    expect(SHOP_SOLD_HAS_ITS_ROW, CLAIM_BROKEN, "user 2 was told order a: that order is another");
}

static void test_an_order_behind_a_no(void **state)
{
    (void)state;
    sell_rightly();
    hand_shop_told(&shop, "4", SHOP_REFUSED, NULL);
    expect(SHOP_NOTHING_BEHIND_A_NO, CLAIM_KEPT, "2 users were refused");
    hand_shop_row(&shop, "d", "4", 1);
    expect(SHOP_NOTHING_BEHIND_A_NO, CLAIM_BROKEN,
           "1 users have an order and were refused each "
           "time; user 4 has order d");
}

/* One no among other answers says nothing about an order. */
static void test_an_order_behind_what_is_not_known(void **state)
{
    (void)state;
    sell_rightly();
    shop.target.limit = 0;
    shop.target.stock = 3;
    hand_shop_told(&shop, "4", SHOP_REFUSED, NULL);
    hand_shop_told(&shop, "4", SHOP_UNKNOWN, NULL);
    hand_shop_row(&shop, "d", "4", 1);
    expect(SHOP_NOTHING_BEHIND_A_NO, CLAIM_KEPT, "1 users");
    assert_int_equal(judged.verdict, SHOP_VERDICT_KEPT);
}

static void test_told_sold_out_and_some_left(void **state)
{
    (void)state;
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_told(&shop, "2", SHOP_SOLD_OUT, NULL);
    hand_shop_row(&shop, "a", "1", 1);
    expect(SHOP_NOTHING_LEFT, CLAIM_BROKEN, "only 1 of 2 units are in orders");
    hand_shop_left(&shop, 1);
    expect(SHOP_NOTHING_LEFT, CLAIM_BROKEN,
           "1 answers `sold_out`, user 2's the first, and 1 are left");
}

static void test_units_that_are_lost(void **state)
{
    (void)state;
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_row(&shop, "a", "1", 1);
    hand_shop_left(&shop, 0);
    expect(SHOP_CONSERVED, CLAIM_BROKEN, "0 left and 1 in orders are 1, 2 were there: 1 are lost");
    hand_shop_left(&shop, 2);
    expect(SHOP_CONSERVED, CLAIM_BROKEN, "1 came from nowhere");
}

static void test_a_key_with_two_orders(void **state)
{
    (void)state;
    shop.target.limit = 0;
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_repeat(&shop, "1", SHOP_SOLD, "b");
    hand_shop_row(&shop, "a", "1", 1);
    hand_shop_row(&shop, "b", "1", 1);
    expect(SHOP_ONE_A_KEY, CLAIM_BROKEN, "key 1-0 of user 1 was told two orders, a and b");
}

/* The repeat's answer was lost: the rows say it. */
static void test_a_key_with_two_rows(void **state)
{
    (void)state;
    shop.target.limit = 0;
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_repeat(&shop, "1", SHOP_UNKNOWN, NULL);
    hand_shop_row(&shop, "a", "1", 1);
    hand_shop_row(&shop, "b", "1", 1);
    expect(SHOP_ONE_A_KEY, CLAIM_BROKEN,
           "1 users have more orders than they sent keys; user 1 sent 1 and has orders a and b");
}

static void test_nothing_sold_is_no_pass(void **state)
{
    (void)state;
    hand_shop_told(&shop, "1", SHOP_REFUSED, NULL);
    hand_shop_left(&shop, 2);
    judge();
    assert_int_equal(judged.verdict, SHOP_VERDICT_INVALID);
    assert_string_equal(judged.why, "nothing was sold, so nothing was shown");
    assert_int_equal(shop_verdict_exit_status(judged.verdict), 2);
}

static void test_orders_of_somebody_else(void **state)
{
    (void)state;
    sell_rightly();
    shop.target.stock = 3;
    hand_shop_row(&shop, "z", "77", 1);
    judge();
    assert_int_equal(judged.verdict, SHOP_VERDICT_INVALID);
    assert_non_null(strstr(judged.why, "order z is of user 77, who did not ask"));
}

static void test_an_audit_that_names_nothing(void **state)
{
    (void)state;
    shop.books.has_rows = false;
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_repeat(&shop, "1", SHOP_SOLD, NULL);
    hand_shop_told(&shop, "2", SHOP_SOLD_OUT, NULL);
    judge();
    for (size_t i = 0; i < SHOP_CLAIMS; i++) {
        if (i != SHOP_ONE_A_KEY && judged.claims[i].result != CLAIM_NOT_CHECKED)
            fail_msg("claim %zu: %s", i, judged.claims[i].text);
    }
    shop.target.claims[SHOP_ONE_A_KEY] = false;
    judge();
    assert_int_equal(judged.verdict, SHOP_VERDICT_INVALID);
    assert_string_equal(judged.why, "no claim could be checked");
}

static void test_a_claim_that_is_not_asked_is_not_judged(void **state)
{
    (void)state;
    sell_rightly();
    hand_shop_row(&shop, "c", "4", 1);
    shop.target.claims[SHOP_NEVER_OVERSOLD] = false;
    shop.target.claims[SHOP_CONSERVED] = false;
    judge();
    assert_int_equal(judged.claims[SHOP_NEVER_OVERSOLD].result, CLAIM_NOT_ASKED);
    assert_int_equal(judged.verdict, SHOP_VERDICT_INVALID);
}

/* A step before it failed: the shop was never asked, so its user's order is a stranger's. */
static void test_what_was_never_asked(void **state)
{
    (void)state;
    sell_rightly();
    hand_shop_told(&shop, "4", SHOP_UNKNOWN, NULL)->asked = false;
    judge();
    assert_int_equal(judged.verdict, SHOP_VERDICT_KEPT);
}

static void tell_before(const char *user, enum shop_meaning meaning)
{
    hand_shop_told(&shop, user, meaning, NULL)->asked = false;
}

/* A step said no: it counts as any no, and a user who got nothing else has no order. */
static void test_a_no_before_the_purchase(void **state)
{
    (void)state;
    sell_rightly();
    tell_before("4", SHOP_REFUSED);
    tell_before("1", SHOP_SOLD_OUT);
    expect(SHOP_NOTHING_BEHIND_A_NO, CLAIM_KEPT, "2 users were refused each time");
    expect(SHOP_NOTHING_LEFT, CLAIM_KEPT, "2 answers `sold_out`");
    hand_shop_row(&shop, "c", "4", 1);
    expect(SHOP_NOTHING_BEHIND_A_NO, CLAIM_BROKEN, "user 4 has order c");
}

/* It puts no limit to the test: the shop was not asked to sell. Nor does what was shed there. */
static void test_a_no_before_the_purchase_asks_for_nothing(void **state)
{
    (void)state;
    hand_shop_told(&shop, "1", SHOP_SOLD, "a");
    hand_shop_told(&shop, "2", SHOP_SOLD, "b");
    tell_before("1", SHOP_REFUSED);
    tell_before("2", SHOP_SHED);
    hand_shop_row(&shop, "a", "1", 1);
    hand_shop_row(&shop, "b", "2", 1);
    hand_shop_left(&shop, 0);
    expect(SHOP_ONE_A_USER, CLAIM_NOT_CHECKED, "nobody who had been told `sold`");
    expect(SHOP_NOTHING_BEHIND_A_NO, CLAIM_NOT_CHECKED, "no user was refused for good");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_right_sale_keeps_every_claim),
        CASE(test_more_units_than_stock),
        CASE(test_units_count_not_orders),
        CASE(test_a_stock_below_nothing),
        CASE(test_more_buyers_told_than_there_was_stock),
        CASE(test_the_same_order_told_twice_is_one),
        CASE(test_a_stock_that_lasts_shows_no_oversale),
        CASE(test_a_user_with_two),
        CASE(test_what_tries_no_limit),
        CASE(test_a_user_with_two_beside_one_without_a_user),
        CASE(test_no_answer_has_its_order),
        CASE(test_sold_without_an_order),
        CASE(test_sold_without_an_order_by_user),
        CASE(test_sold_another_users_order),
        CASE(test_an_order_behind_a_no),
        CASE(test_an_order_behind_what_is_not_known),
        CASE(test_told_sold_out_and_some_left),
        CASE(test_units_that_are_lost),
        CASE(test_a_key_with_two_orders),
        CASE(test_a_key_with_two_rows),
        CASE(test_nothing_sold_is_no_pass),
        CASE(test_orders_of_somebody_else),
        CASE(test_an_audit_that_names_nothing),
        CASE(test_a_claim_that_is_not_asked_is_not_judged),
        CASE(test_what_was_never_asked),
        CASE(test_a_no_before_the_purchase),
        CASE(test_a_no_before_the_purchase_asks_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
