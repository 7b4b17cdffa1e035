/* What --fail-if and a JUnit file make of a sale, by hand: which purchase counts as what, and which
 * case passes, fails or is left out. */
#include "hand_shop.h"
#include "lib/t.h"
#include "loadtest/shop/sale/told.h"

#include <string.h>

static struct measured measured;

static void measure(void)
{
    struct error error;
    shop.sale.ledger.load.began_us = 1000000;
    shop.sale.ledger.load.ended_us = 3000000;
    t_done(sale_judge(&shop.target, &shop.sale, &error), error);
    measured = shop.sale.measured;
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
    told_missing(&shop.target, missing);
    for (int i = 0; i < THRESHOLD_MEASURES; i++)
        assert_int_equal(missing[i] != NULL, i == THRESHOLD_COMMITTED);
    shop.target.orders.sql = "SELECT 1";
    told_missing(&shop.target, missing);
    assert_null(missing[THRESHOLD_COMMITTED]);
}

static struct junit junit;

static const struct junit_case *find_case(const char *name)
{
    for (size_t i = 0; i < junit.count; i++) {
        if (strcmp(junit.cases[i].name, name) == 0)
            return &junit.cases[i];
    }
    fail_msg("no case %s", name);
    return NULL;
}

static void has_outcome(const char *name, enum junit_outcome outcome, const char *type)
{
    const struct junit_case *one = find_case(name);
    assert_int_equal(one->outcome, outcome);
    assert_string_equal(one->type, type);
}

/* The cases go into a file that is thrown away. */
static void make_cases(void)
{
    struct error error;
    if (!sale_judge(&shop.target, &shop.sale, &error) || !junit_open(&junit, "/dev/null", &error))
        fail_msg("%s", error.text);
    told_add_cases(&junit, &shop.sale);
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
    has_outcome("never_oversold", JUNIT_FAILED, "BROKEN");
    has_outcome("sold_has_its_row", JUNIT_PASSED, "");
    has_outcome("nothing_left", JUNIT_SKIPPED, "not checked");
    has_outcome("verdict", JUNIT_FAILED, "BROKEN");
    t_says(find_case("never_oversold")->text, "1 too many");
    throw_away();
}

TEST(a_sale_of_nothing_is_an_error)
{
    shop.target.claims[FINDING_DUPLICATE] = false;
    hand_shop_told("ann", SHOP_SHED, NULL);
    hand_shop_left(2);
    make_cases();
    has_outcome("verdict", JUNIT_ERROR, "INVALID");
    assert_int_equal(junit.count, 9); /* all but one, and the verdict */
    throw_away();
}

TEST_EACH(hand_shop_begin, hand_shop_end)
