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

TEST(rows_against_answers)
{
    struct counts counts = {.committed = 10, .accepted = 5, .unknown = 2};
    struct books audit = {.confirmed_rows = 15, .restock_rows = 3};
    assert_true(reconcile_rows(&counts, false, &audit, &error));
    assert_int_equal(audit.missing, 0);
    audit.confirmed_rows = 17;
    assert_true(reconcile_rows(&counts, false, &audit, &error));
    assert_int_equal(audit.missing, 0);
    audit.confirmed_rows = 18;
    assert_false(reconcile_rows(&counts, false, &audit, &error));
    assert_true(reconcile_rows(&counts, true, &audit, &error));
    assert_int_equal(audit.missing, 12);
}

/* A 202 ends as a row: confirmed, or failed. */
TEST(what_was_accepted_has_its_row)
{
    struct counts counts = {.committed = 10, .accepted = 5};
    struct books audit = {.confirmed_rows = 12, .failed_rows = 3};
    assert_true(reconcile_rows(&counts, false, &audit, &error));
    assert_int_equal(audit.missing, 0);
    audit.failed_rows = 1;
    assert_true(reconcile_rows(&counts, false, &audit, &error));
    assert_int_equal(audit.missing, 2);
    /* A refused order may have a failed row as well, which hides none that was taken back. */
    audit = (struct books){.confirmed_rows = 12, .failed_rows = 40, .revoked_rows = 3};
    assert_true(reconcile_rows(&counts, false, &audit, &error));
    assert_int_equal(audit.missing, 3);
    /* No 201 may fail, so another's failed order does not hide that one is gone. */
    audit = (struct books){.confirmed_rows = 8, .failed_rows = 9};
    assert_true(reconcile_rows(&counts, false, &audit, &error));
    assert_int_equal(audit.missing, 2);
}

static bool expected(struct counted plan, int64_t rows, int64_t shed, int64_t *undersold)
{
    struct counts counts = {.failed = shed};
    struct books audit = {.confirmed_rows = rows};
    bool complete = reconcile_expected(&plan, &counts, false, &audit);
    *undersold = audit.undersold;
    return complete;
}

/* 40 buyers, of whom 20 can be served. */
TEST(a_counted_load_says_how_many_are_served)
{
    struct counted plan = {.count = 40, .expected = 20};
    int64_t undersold = 0;
    assert_true(expected(plan, 20, 0, &undersold));
    assert_int_equal(undersold, 0);
    assert_true(expected(plan, 25, 0, &undersold));
    assert_int_equal(undersold, 0);
    assert_false(expected(plan, 18, 0, &undersold));
    assert_int_equal(undersold, 2);
    /* The missing orders may be those that were shed. */
    assert_false(expected(plan, 18, 2, &undersold));
    assert_int_equal(undersold, 0);
    assert_false(expected(plan, 20, 1, &undersold));
}

/* 40 buyers and stock for all; at least 20 must be served, the others may be shed. */
TEST(what_may_be_shed_is_told_from_what_is_refused)
{
    struct counted plan = {.count = 40, .expected = 20, .may_shed = true, .must_shed = true};
    int64_t undersold = 0;
    assert_true(expected(plan, 22, 18, &undersold));
    assert_int_equal(undersold, 0);
    assert_true(expected(plan, 21, 18, &undersold));
    assert_int_equal(undersold, 1);
    assert_false(expected(plan, 19, 21, &undersold));
    assert_false(expected(plan, 40, 0, &undersold));
    plan.must_shed = false;
    assert_true(expected(plan, 40, 0, &undersold));
}
