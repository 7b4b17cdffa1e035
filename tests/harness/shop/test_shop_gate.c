/* What --fail-if and a JUnit file make of a sale, by hand: which purchase counts as what, and which
 * case passes, fails or is left out. */
#include "hand_shop.h"
#include "lib/t.h"
#include "loadtest/shop/sale/told.h"

#include <string.h>

static struct measured measured;

static void measure(void)
{
    struct sale_answers answers[SHOP_MEANINGS];
    shop.sale.ledger.load.began_us = 1000000;
    shop.sale.ledger.load.ended_us = 3000000;
    sale_count(&shop.sale, answers);
    sale_measure(&shop.target, &shop.sale, answers, &measured);
}

static void counts(enum threshold_measure measure, int wanted)
{
    if ((int)measured.values[measure] != wanted)
        fail_msg("measure %d is %d, not %d", (int)measure, (int)measured.values[measure], wanted);
}

TEST(each_purchase_is_counted_for_what_became_of_it)
{
    hand_shop_told("ann", SHOP_SOLD, "1");
    hand_shop_told("bob", SHOP_ACCEPTED, "2")->last = SHOP_SOLD;
    hand_shop_told("cid", SHOP_ACCEPTED, "3")->last = SHOP_SOLD_OUT;
    hand_shop_told("dan", SHOP_REFUSED, NULL);
    hand_shop_told("eve", SHOP_SHED, NULL);
    hand_shop_told("fay", SHOP_UNKNOWN, NULL);
    hand_shop_told("gus", SHOP_ACCEPTED, "4");
    hand_shop_row("1", "ann", 1);
    hand_shop_row("2", "bob", 3);
    measure();
    counts(THRESHOLD_ORDERS, 7);
    counts(THRESHOLD_COMMITTED, 2);
    counts(THRESHOLD_ACCEPTED, 3);
    counts(THRESHOLD_REFUSED, 2);
    counts(THRESHOLD_FAILED, 2);
    assert_int_equal((int)(measured.per_s[THRESHOLD_ORDERS] * 10), 35);
}

/* Only who asks for the end of an order can miss it. */
TEST(what_is_never_decided_failed_where_it_is_asked_for)
{
    hand_shop_told("ann", SHOP_ACCEPTED, "1");
    measure();
    counts(THRESHOLD_FAILED, 0);
    shop.target.poll.method = "GET";
    measure();
    counts(THRESHOLD_FAILED, 1);
}

/* From when it was due, not from when it was sent; what has no answer has no time. */
TEST(times_are_those_of_the_first_answer)
{
    struct ledger_op *one = hand_shop_told("ann", SHOP_SOLD, "1");
    one->due_us = 1000000;
    one->start_us = 1400000;
    one->end_us = 1500000;
    one = hand_shop_told("bob", SHOP_UNKNOWN, NULL);
    one->due_us = 1000000;
    one->end_us = LEDGER_NEVER;
    measure();
    counts(THRESHOLD_MAX, 500000);
    assert_true(measured.values[THRESHOLD_P50] >= 500000);
}

TEST(what_is_missing_is_what_the_audit_lacks)
{
    const char *missing[THRESHOLD_MEASURES];
    sale_missing(&shop.target, missing);
    for (int i = 0; i < THRESHOLD_MEASURES; i++)
        assert_int_equal(missing[i] != NULL, i == THRESHOLD_COMMITTED);
    shop.target.orders.sql = "SELECT 1";
    sale_missing(&shop.target, missing);
    assert_null(missing[THRESHOLD_COMMITTED]);
}

static struct junit junit;

static void has_case(const char *name, const char *says)
{
    const char *at = strstr(junit.text, t_text(" name=\"%s\"", name));
    assert_non_null(at);
    t_says(t_text("%.*s", (int)strcspn(at, "\n"), at), says);
}

/* The cases go into a file that is thrown away. */
static void make_cases(void)
{
    struct error error;
    if (!sale_judge(&shop.target, &shop.sale, &error) || !junit_open(&junit, "/dev/null", &error))
        fail_msg("%s", error.text);
    sale_add_cases(&junit, &shop.target, &shop.sale);
    fflush(junit.cases);
}

static void throw_away(void)
{
    struct error error;
    assert_true(junit_close(&junit, "a shop", &error));
}

TEST(a_broken_claim_is_a_failure)
{
    hand_shop_told("ann", SHOP_SOLD, "1");
    hand_shop_told("bob", SHOP_SOLD, "2");
    hand_shop_told("cid", SHOP_SOLD, "3");
    hand_shop_row("1", "ann", 1);
    hand_shop_row("2", "bob", 1);
    hand_shop_row("3", "cid", 1);
    make_cases();
    has_case("never_oversold", "type=\"BROKEN\"");
    has_case("never_oversold", "1 too many");
    has_case("never_oversold", "</failure>");
    has_case("sold_has_its_row", "</system-out>");
    has_case("nothing_left", "type=\"not checked\"></skipped>");
    has_case("verdict", "type=\"BROKEN\"");
    throw_away();
}

TEST(a_sale_of_nothing_is_an_error)
{
    shop.target.claims[FINDING_DUPLICATE] = false;
    hand_shop_told("ann", SHOP_SHED, NULL);
    hand_shop_left(2);
    make_cases();
    has_case("verdict", "type=\"INVALID\"");
    has_case("verdict", "</error>");
    assert_int_equal(junit.count, 9); /* all but one, and the verdict */
    throw_away();
}

TEST_EACH(hand_shop_begin, hand_shop_end)
