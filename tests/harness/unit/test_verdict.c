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

TEST(books_are_computed)
{
    static const struct {
        int64_t initial, restocked, sold, left;
        struct books is;
    } cases[] = {
        {1, 0, 20, 0, {.oversold = 19, .lost_updates = 19}}, /* 20 buyers, stock 1, no lock */
        {1000, 0, 30, 990, {.lost_updates = 20}},
        {0, 50, 0, 40, {.lost_updates = 10}}, /* of restocks that were lost */
        {10, 0, 11, -1, {.oversold = 1, .negative = 1}},
        {10, 5, 15, 0, {.oversold = 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct books audit =
            computed(cases[i].initial, cases[i].restocked, cases[i].sold, cases[i].left);
        const struct books *is = &cases[i].is;
        HAS(audit, oversold, is->oversold, lost_updates, is->lost_updates, negative, is->negative);
        assert_int_equal(books_violations(&audit), is->oversold + is->lost_updates + is->negative);
        assert_int_equal(books_consistent(&audit), books_violations(&audit) == 0);
    }
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

/* One violation is enough; without a promise it shows the danger. */
TEST(every_violation_counts)
{
    static const struct books all[] = {
        {.oversold = 1},         {.lost_updates = 1}, {.duplicate_orders = 1},
        {.limit_violations = 1}, {.negative = 1},     {.undersold = 1},
        {.missing = 1},          {.resold = 1},       {.unrepeatable = 1}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct books audit = computed(100, 0, 100, 0);
        struct evidence evidence = {
            .promised = true, .complete = true, .done = 100, .audit = &audit};
        books_add(&audit, &all[i]);
        enum verdict promised = verdict_of(&evidence);
        evidence.promised = false;
        if (promised != VERDICT_BROKEN || verdict_of(&evidence) != VERDICT_UNSAFE)
            fail_msg("violation %zu", i);
    }
}

#define SOLDOUT SCENARIO_SOLDOUT

TEST(a_verdict_follows_from_the_evidence)
{
    static const struct books good = {.strategies_count = 1},
                              oversold = {.oversold = 1, .strategies_count = 1},
                              two = {.strategies_count = 2},
                              two_oversold = {.oversold = 3, .strategies_count = 2};
    static const struct {
        const char *what;
        struct evidence is; /* scenario, promised, complete, done, refused, internal errors */
        enum verdict verdict;
    } cases[] = {
        {"clean", {0, true, true, 100, 64, 0, &good}, VERDICT_KEPT},
        {"clean, not promised", {0, false, true, 100, 64, 0, &good}, VERDICT_PROVED_NOTHING},
        {"nothing sold", {0, true, true, 0, 64, 0, &good}, VERDICT_PROVED_NOTHING},
        {"nothing sold either", {0, false, true, 0, 64, 0, &good}, VERDICT_PROVED_NOTHING},
        {"did not end", {0, true, false, 50, 0, 0, &good}, VERDICT_PROVED_NOTHING},
        {"did not end, oversold", {0, true, false, 50, 0, 0, &oversold}, VERDICT_BROKEN},
        {"two strategies", {0, true, true, 100, 64, 0, &two}, VERDICT_PROVED_NOTHING},
        {"two, oversold", {0, true, true, 100, 64, 0, &two_oversold}, VERDICT_PROVED_NOTHING},
        {"internal error", {0, false, true, 100, 0, 1, &good}, VERDICT_BROKEN},
        {"all refused", {SOLDOUT, true, true, 0, 1, 0, &good}, VERDICT_KEPT},
        {"nobody refused", {SOLDOUT, true, true, 0, 0, 0, &good}, VERDICT_PROVED_NOTHING},
        {"refused, not promised", {SOLDOUT, false, true, 0, 1, 0, &good}, VERDICT_PROVED_NOTHING},
        {"refused, oversold", {SOLDOUT, false, true, 0, 1, 0, &oversold}, VERDICT_UNSAFE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (verdict_of(&cases[i].is) != cases[i].verdict)
            fail_msg("%s: %s", cases[i].what, verdict_name(verdict_of(&cases[i].is)));
    }
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

static int exit_status(enum verdict a, enum verdict b)
{
    struct verdict_tally tally = {{0}};
    tally.counts[a]++;
    tally.counts[b]++;
    return verdict_exit_status(&tally);
}

TEST(merging_takes_the_stronger_word)
{
    static const struct {
        enum verdict a, b, merged;
        int exit_status;
    } cases[] = {
        {VERDICT_KEPT, VERDICT_UNSAFE, VERDICT_UNSAFE, 0},
        {VERDICT_KEPT, VERDICT_PROVED_NOTHING, VERDICT_PROVED_NOTHING, 2},
        {VERDICT_PROVED_NOTHING, VERDICT_UNSAFE, VERDICT_UNSAFE, 2},
        {VERDICT_KEPT, VERDICT_NO_RUN, VERDICT_NO_RUN, 2},
        {VERDICT_UNSAFE, VERDICT_NO_RUN, VERDICT_NO_RUN, 2},
        {VERDICT_BROKEN, VERDICT_KEPT, VERDICT_BROKEN, 1},
        {VERDICT_BROKEN, VERDICT_NO_RUN, VERDICT_BROKEN, 1},
        {VERDICT_PROVED_NOTHING, VERDICT_BROKEN, VERDICT_BROKEN, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(verdict_merge(cases[i].a, cases[i].b), cases[i].merged);
        assert_int_equal(exit_status(cases[i].a, cases[i].b), cases[i].exit_status);
    }
    assert_int_equal(verdict_exit_status(&(struct verdict_tally){{0}}), 2);
}
