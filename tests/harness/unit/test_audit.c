/* The audit's formulas. */
#include "lib/t.h"
#include "harness/fixtures/has.h"

#include "loadtest/judge/books.h"

static struct books computed(int64_t initial, int64_t restocked, int64_t sold, int64_t left)
{
    struct books audit = {
        .initial_stock = initial, .restocked = restocked, .sold = sold, .stock = left};
    books_compute(&audit);
    return audit;
}

/* An example: 20 buyers, stock 1, no lock. */
TEST(twenty_buyers_of_one_unit)
{
    struct books audit = computed(1, 0, 20, 0);
    HAS(audit, oversold, 19, lost_updates, 19);
    assert_false(books_consistent(&audit));
}

TEST(lost_updates_without_overselling)
{
    struct books audit = computed(1000, 0, 30, 990);
    HAS(audit, oversold, 0, lost_updates, 20);
    /* Restocks that were lost leave less than there should be. */
    audit = computed(0, 50, 0, 40);
    HAS(audit, lost_updates, 10, oversold, 0);
}

TEST(a_negative_stock_is_inconsistent)
{
    struct books audit = computed(10, 0, 11, -1);
    HAS(audit, oversold, 1, lost_updates, 0, negative, 1);
    assert_false(books_consistent(&audit));
    struct books exact = computed(10, 5, 15, 0);
    assert_true(books_consistent(&exact));
    assert_int_equal(books_violations(&exact), 0);
}

/* Over products, one's surplus must not hide another's loss. */
TEST(sums_do_not_cancel_out)
{
    struct books sum = {0};
    struct books over = computed(10, 0, 12, 0);
    struct books under = computed(10, 0, 0, 8);
    books_add_strategies(&over, "none");
    books_add_strategies(&under, "none");
    books_add(&sum, &over);
    books_add(&sum, &under);
    HAS(sum, products, 2, oversold, 2, lost_updates, 4, lowest_stock, 0, strategies_count, 1);
    books_add_strategies(&sum, "non");
    HAS(sum, strategies, "none,non", strategies_count, 2);
}

TEST(undersold_only_when_it_is_certain)
{
    struct books sum = {0};
    struct books full = computed(10, 0, 5, 5);
    struct books gone = computed(10, 0, 10, 0);
    books_add(&sum, &full);
    books_undersell(&sum, 0, 1);
    assert_int_equal(sum.undersold, 0);
    books_undersell(&sum, 1, 6);
    assert_int_equal(sum.undersold, 0);
    books_undersell(&sum, 1, 5);
    assert_int_equal(sum.undersold, 5);
    assert_int_equal(books_violations(&sum), 5);
    /* With one product gone, the refusal may have been for that one. */
    sum.undersold = 0;
    books_add(&sum, &gone);
    books_undersell(&sum, 7, 1);
    assert_int_equal(sum.undersold, 0);
}

TEST(every_kind_is_a_violation)
{
    struct books sum = {0};
    struct books one = {.missing = 2, .resold = 3, .unrepeatable = 1};
    books_add(&sum, &one);
    books_add(&sum, &one);
    HAS(sum, missing, 4, resold, 6);
    assert_int_equal(books_violations(&sum), 12);
}
