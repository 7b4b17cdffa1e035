/* The audit's formulas, and the verdicts and exit statuses, case by case. */
#include "lib/t.h"
#include "harness/fixtures/has.h"

#include "loadtest/judge/verdict.h"

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

static struct books clean(void)
{
    struct books audit = {.initial_stock = 100, .sold = 100, .confirmed_rows = 100};
    books_compute(&audit);
    books_add_strategies(&audit, "conditional");
    return audit;
}

static enum verdict judge(bool promised, const struct books *audit)
{
    struct evidence evidence = {.scenario = SCENARIO_HOT,
                                .promised = promised,
                                .complete = true,
                                .done = audit->confirmed_rows,
                                .refused = 64,
                                .audit = audit};
    return verdict_of(&evidence);
}

TEST(clean_books_are_kept_or_prove_nothing)
{
    struct books audit = clean();
    assert_int_equal(judge(true, &audit), VERDICT_KEPT);
    assert_int_equal(judge(false, &audit), VERDICT_PROVED_NOTHING);
}

TEST(every_violation_counts)
{
    static const struct books all[] = {
        {.oversold = 1},         {.lost_updates = 1}, {.duplicate_orders = 1},
        {.limit_violations = 1}, {.negative = 1},     {.undersold = 1},
        {.missing = 1},          {.resold = 1},       {.unrepeatable = 1}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct books audit = clean();
        books_add(&audit, &all[i]);
        if (judge(true, &audit) != VERDICT_BROKEN || judge(false, &audit) != VERDICT_UNSAFE)
            fail_msg("violation %zu", i);
    }
}

TEST(nothing_sold_proves_nothing)
{
    struct books audit = {.initial_stock = 100, .stock = 100};
    books_compute(&audit);
    assert_int_equal(judge(true, &audit), VERDICT_PROVED_NOTHING);
    assert_int_equal(judge(false, &audit), VERDICT_PROVED_NOTHING);
}

TEST(a_phase_that_did_not_end_proves_nothing)
{
    struct books audit = clean();
    struct evidence evidence = {.promised = true, .complete = false, .done = 50, .audit = &audit};
    assert_int_equal(verdict_of(&evidence), VERDICT_PROVED_NOTHING);
    audit.oversold = 1;
    assert_int_equal(verdict_of(&evidence), VERDICT_BROKEN);
}

TEST(two_strategies_on_one_product_prove_nothing)
{
    struct books audit = clean();
    books_add_strategies(&audit, "none");
    assert_int_equal(judge(true, &audit), VERDICT_PROVED_NOTHING);
    audit.oversold = 3;
    assert_int_equal(judge(true, &audit), VERDICT_PROVED_NOTHING);
}

TEST(an_internal_error_is_broken_whatever_was_promised)
{
    struct books audit = clean();
    struct evidence evidence = {
        .complete = true, .done = 100, .internal_errors = 1, .audit = &audit};
    assert_int_equal(verdict_of(&evidence), VERDICT_BROKEN);
}

TEST(soldout_wants_refusals_and_no_sale)
{
    struct books audit = {0};
    books_compute(&audit);
    struct evidence evidence = {.scenario = SCENARIO_SOLDOUT,
                                .promised = true,
                                .complete = true,
                                .refused = 1,
                                .audit = &audit};
    assert_int_equal(verdict_of(&evidence), VERDICT_KEPT);
    evidence.refused = 0;
    assert_int_equal(verdict_of(&evidence), VERDICT_PROVED_NOTHING);
    evidence.promised = false;
    evidence.refused = 1;
    assert_int_equal(verdict_of(&evidence), VERDICT_PROVED_NOTHING);
    audit.oversold = 1;
    assert_int_equal(verdict_of(&evidence), VERDICT_UNSAFE);
}

TEST(the_promise_depends_on_instances_and_body)
{
    struct promise local = {.one_instance = true};
    struct promise none = {0};
    assert_true(promise_in_force(&local, 1, false));
    assert_false(promise_in_force(&local, 3, false));
    assert_true(promise_in_force(&local, 3, true));
    assert_false(promise_in_force(&none, 1, false));
    assert_true(promise_in_force(&none, 1, true));
}

TEST(merging_takes_the_stronger_word)
{
    assert_int_equal(verdict_merge(VERDICT_KEPT, VERDICT_PROVED_NOTHING), VERDICT_PROVED_NOTHING);
    assert_int_equal(verdict_merge(VERDICT_PROVED_NOTHING, VERDICT_UNSAFE), VERDICT_UNSAFE);
    assert_int_equal(verdict_merge(VERDICT_BROKEN, VERDICT_KEPT), VERDICT_BROKEN);
    assert_int_equal(verdict_merge(VERDICT_BROKEN, VERDICT_NO_RUN), VERDICT_BROKEN);
    assert_int_equal(verdict_merge(VERDICT_UNSAFE, VERDICT_NO_RUN), VERDICT_NO_RUN);
}

static int exit_status(enum verdict a, enum verdict b)
{
    struct verdict_tally tally = {{0}};
    tally.counts[a]++;
    tally.counts[b]++;
    return verdict_exit_status(&tally);
}

TEST(exit_statuses)
{
    struct verdict_tally nothing = {{0}};
    assert_int_equal(verdict_exit_status(&nothing), 2);
    assert_int_equal(exit_status(VERDICT_KEPT, VERDICT_UNSAFE), 0);
    assert_int_equal(exit_status(VERDICT_KEPT, VERDICT_BROKEN), 1);
    assert_int_equal(exit_status(VERDICT_NO_RUN, VERDICT_BROKEN), 1);
    assert_int_equal(exit_status(VERDICT_PROVED_NOTHING, VERDICT_BROKEN), 1);
    assert_int_equal(exit_status(VERDICT_KEPT, VERDICT_PROVED_NOTHING), 2);
    assert_int_equal(exit_status(VERDICT_KEPT, VERDICT_NO_RUN), 2);
}
