/* The books: what is within wrk's abandoned requests, and what is not. */
#include "lib/t.h"

#include "loadtest/phase/phase.h"

static struct error error;

/* 1000 answers, 900 of them 2xx, from 10 connections in one wrk run. */
static struct phase_result loaded(void)
{
    return (struct phase_result){.load = {.requests = 1000, .not_2xx = 100, .abandoned = 10}};
}

static struct scrape counted(int64_t committed, int64_t refused)
{
    return (struct scrape){.counts = {.total = committed + refused,
                                      .committed = committed,
                                      .refused = refused,
                                      .sold_out = refused}};
}

static const struct fleet one = {.count = 1}, two = {.count = 2};

static bool reconcile(int64_t committed, int64_t refused)
{
    struct phase_result result = loaded();
    struct scrape delta = counted(committed, refused);
    return reconcile_counts(&delta, &one, &result, &error);
}

TEST(sums_agree_but_for_what_wrk_abandons)
{
    assert_true(reconcile(900, 100));
    assert_true(reconcile(910, 100));
    assert_true(reconcile(905, 105));
    assert_false(reconcile(911, 100));
    assert_false(reconcile(899, 101));
    assert_false(reconcile(901, 99));
    assert_false(reconcile(899, 100));
    assert_false(reconcile(906, 105));
}

TEST(an_idle_instance_is_no_run)
{
    struct phase_result result = loaded();
    struct scrape deltas[] = {counted(900, 100), counted(0, 0)};
    assert_false(reconcile_counts(deltas, &two, &result, &error));
    t_says(error.text, "instance 2 of 2");
    const struct fleet balanced = {.count = 2, .balancer = "http://shop"};
    result = loaded();
    assert_true(reconcile_counts(deltas, &balanced, &result, &error));
}

TEST(instances_are_summed)
{
    struct phase_result result = loaded();
    struct scrape deltas[] = {counted(400, 50), counted(500, 50)};
    assert_true(reconcile_counts(deltas, &two, &result, &error));
    assert_int_equal(result.counts.committed, 900);
}

TEST(strangers_are_no_run)
{
    struct phase_result result = loaded();
    struct scrape delta = counted(900, 100);
    delta.counts.strangers = 1;
    assert_false(reconcile_counts(&delta, &one, &result, &error));
}

/* The rows, and how many 201s and 202s have none of their own; NO_RUN: there are more rows than
 * answers. */
enum { NO_RUN = -1 };
static const struct {
    struct counts counts;
    bool counter;
    struct books rows;
    int64_t missing;
} answers[] = {
    {{.committed = 10, .accepted = 5, .unknown = 2}, false, {.confirmed_rows = 15}, 0},
    {{.committed = 10, .accepted = 5, .unknown = 2}, false, {.confirmed_rows = 17}, 0},
    {{.committed = 10, .accepted = 5, .unknown = 2}, false, {.confirmed_rows = 18}, NO_RUN},
    {{.committed = 10, .accepted = 5, .unknown = 2}, true, {.restock_rows = 3}, 12},
    /* A 202 ends as a row: confirmed, or failed. */
    {{.committed = 10, .accepted = 5}, false, {.confirmed_rows = 12, .failed_rows = 3}, 0},
    {{.committed = 10, .accepted = 5}, false, {.confirmed_rows = 12, .failed_rows = 1}, 2},
    /* A refused order may have a failed row as well, which hides none that was taken back. */
    {{.committed = 10, .accepted = 5},
     false,
     {.confirmed_rows = 12, .failed_rows = 40, .revoked_rows = 3},
     3},
    /* No 201 may fail, so another's failed order does not hide that one is gone. */
    {{.committed = 10, .accepted = 5}, false, {.confirmed_rows = 8, .failed_rows = 9}, 2},
};

TEST(what_was_accepted_has_its_row)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct books audit = answers[i].rows;
        bool made = reconcile_rows(&answers[i].counts, answers[i].counter, &audit, &error);
        if ((made ? audit.missing : NO_RUN) != answers[i].missing)
            fail_msg("answers[%zu]: %d", i, made ? (int)audit.missing : NO_RUN);
    }
}

/* 40 buyers, of whom 20 can be served; and 40 buyers with stock for all, of whom at least 20 must
 * be served and the others may be shed. */
static const struct counted bounded = {.count = 40, .expected = 20};
static const struct counted shed = {.count = 40, .expected = 20, .may_shed = true};
static const struct counted sheds = {
    .count = 40, .expected = 20, .may_shed = true, .must_shed = true};

static const struct {
    const struct counted *plan;
    int64_t rows, shed;
    bool complete;
    int64_t undersold;
} loads[] = {
    {&bounded, 20, 0, true, 0},  {&bounded, 25, 0, true, 0}, {&bounded, 18, 0, false, 2},
    {&bounded, 18, 2, false, 0}, /* the missing orders may be those that were shed */
    {&bounded, 20, 1, false, 0}, {&sheds, 22, 18, true, 0},  {&sheds, 21, 18, true, 1},
    {&sheds, 19, 21, false, 0},  {&sheds, 40, 0, false, 0},  {&shed, 40, 0, true, 0},
};

TEST(a_counted_load_says_how_many_are_served)
{
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        const struct counts counts = {.failed = loads[i].shed};
        struct books audit = {.confirmed_rows = loads[i].rows};
        bool complete = reconcile_expected(loads[i].plan, &counts, false, &audit);
        if (complete != loads[i].complete || audit.undersold != loads[i].undersold)
            fail_msg("loads[%zu]: %d, %d undersold", i, complete, (int)audit.undersold);
    }
}
