/*
 * A whole sale on a real shop, which is our own server: one that protects its stock keeps every
 * claim, one that does not is BROKEN; a step that says sold out, orders that are accepted first;
 * and what the books cannot say.
 */
#include "harness/fixtures/has.h"
#include "harness/shop/own_shop.h"
#include "lib/t.h"
#include "loadtest/shop/audit/audit.h"
#include "loadtest/shop/sale/sale.h"

static struct error error;

static struct target target;
static struct sale sale;
static char log_path[200]; /* where its commands' words go */
static struct shop_asker asker;

/* Our server as a target: one unit a user, 40 users, every second purchase twice; and more lines.
 */
static void describe(const char *strategy, const char *more)
{
    char lines[600];
    snprintf(lines, sizeof lines, "limit: 1\nrepeats: 50%%\n%s", more);
    own_shop_describe(&(struct own_shop){
        .strategy = strategy, .users = "1..40", .audit = OWN_SHOP_AUDIT, .more = lines});
    target_fini(&target);
    snprintf(log_path, sizeof log_path, "%s", program_path("shop.log"));
    t_done(target_read(program_path("shop.yaml"), &target, &error), error);
    asker = (struct shop_asker){&target, log_path, 60000};
}

static struct sale_plan plan_of(void)
{
    return (struct sale_plan){.target = &target,
                              .folder = program->folder,
                              .timeout_ms = t_patience_us() / 1000,
                              .ca_file = "",
                              .connections = 32,
                              .buyers = 160,
                              .seed = 1};
}

static void hold_sale(void)
{
    const struct sale_plan plan = plan_of();
    sale_fini(&sale);
    t_done(sale_hold(&plan, &sale, &error), error);
}

static void print_claims(void)
{
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        print_message("%s %s: %s\n", claim_name((enum finding_kind)i),
                      claim_result_name(sale.judgement.claims[i].result),
                      sale.judgement.claims[i].text);
    print_message("%s; first failure: %s\n", sale.judgement.why, sale.ledger.load.first_failure);
}

static void expect_verdict(enum shop_verdict verdict)
{
    if (sale.judgement.verdict == verdict)
        return;
    print_claims();
    fail_msg("%s instead of %s", shop_verdict_name(sale.judgement.verdict),
             shop_verdict_name(verdict));
}

static size_t count_ended(enum shop_meaning meaning)
{
    size_t count = 0;
    for (size_t i = 0; i < sale.ledger.ops_count; i++)
        count += sale.ledger.ops[i].last == meaning;
    return count;
}

static int end(void **state)
{
    target_fini(&target);
    sale_fini(&sale);
    return program_end(state);
}

TEST_WITH(test_a_shop_that_protects_its_stock_keeps_every_claim, program_one, end)
{
    describe("conditional", "");
    hold_sale();
    expect_verdict(SHOP_VERDICT_KEPT);
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++) {
        if (*claim_name((enum finding_kind)i) && sale.judgement.claims[i].result != CLAIM_KEPT) {
            print_claims();
            fail_msg("claim %zu is not kept", i);
        }
    }
    assert_true(sale.ledger.ops_count > 160);
    HAS(sale.ledger.books, orders_count, OWN_SHOP_STOCK, left, 0);
}

/* A race, made wide: whoever reads the stock writes it 20 ms later. It is run again when nobody
 * lost it. */
TEST_WITH(test_a_shop_without_protection_is_broken, program_alone, end)
{
    program->options.work_ms = 20;
    t_done(
        instance_start_all(program->servers, 1, &program->options, SERVER, program->folder, &error),
        error);
    program->count = 1;
    describe("none", "");
    for (int i = 0; i < 20; i++) {
        hold_sale();
        if (sale.judgement.claims[FINDING_OVERSOLD].result == CLAIM_BROKEN)
            break;
    }
    expect_verdict(SHOP_VERDICT_BROKEN);
    assert_int_equal(sale.judgement.claims[FINDING_OVERSOLD].result, CLAIM_BROKEN);
    t_says(sale.judgement.claims[FINDING_OVERSOLD].text, "20 were on sale");
    assert_int_equal(sale.judgement.claims[FINDING_CONSERVATION].result, CLAIM_BROKEN);
}

/* A user who looks when everything is gone is told so before he buys; one who came before that
 * buys. */
TEST_WITH(test_a_step_that_says_sold_out, program_one, end)
{
    size_t before = 0;
    describe("conditional", "before:\n"
                            "  - path: /products/{product}\n"
                            "    outcome: [{sold_out: {json: {/stock: 0}}}]\n");
    hold_sale();
    expect_verdict(SHOP_VERDICT_KEPT);
    assert_int_equal(sale.judgement.claims[FINDING_UNDERSOLD].result, CLAIM_KEPT);
    for (size_t i = 0; i < sale.ledger.ops_count; i++)
        before += sale.ledger.ops[i].unasked && sale.ledger.ops[i].last == SHOP_SOLD_OUT;
    assert_true(before > 0);
    assert_int_equal(sale.ledger.load.failures, 0);
}

/* 202 first; the shop is asked until it says what became of it. */
TEST_WITH(test_what_is_accepted_is_asked_for, program_one, end)
{
    describe("redis-stock", "poll:\n"
                            "  path: /orders/{order}\n"
                            "  every: 10ms\n"
                            "  within: 10m\n"
                            "  outcome:\n"
                            "    - sold: {json: {/status: confirmed}}\n"
                            "    - accepted: {json: {/status: queued}}\n");
    hold_sale();
    expect_verdict(SHOP_VERDICT_KEPT);
    assert_int_equal(count_ended(SHOP_ACCEPTED), 0);
}

TEST_WITH(test_an_open_loop, program_one, end)
{
    describe("conditional", "");
    struct sale_plan plan = plan_of();
    plan.rate_per_s = 200;
    plan.max_lag_ms = 60000;
    plan.duration_us = CLOCK_US_PER_S;
    plan.arrivals = ARRIVALS_CONSTANT;
    target.repeats = 0;
    t_done(sale_hold(&plan, &sale, &error), error);
    /* And the two who ask for more than the limit. */
    assert_true(sale.ledger.ops_count >= 199 && sale.ledger.ops_count <= 203);
    assert_int_equal(sale.ledger.books.orders_count, OWN_SHOP_STOCK);
}

/* The sale before it was not put back. */
TEST_WITH(test_a_sale_that_does_not_begin, program_one, end)
{
    describe("conditional", "");
    hold_sale();
    target.reset.command = NULL;
    const struct sale_plan plan = plan_of();
    sale_fini(&sale);
    assert_false(sale_hold(&plan, &sale, &error));
    t_says(error.text, "there are 20 orders already");
}

/* The books by a command, or by SQL, are refused with a text. */
static void expect_refusal(const struct shop_query *orders, const struct shop_query *left,
                           const char *said)
{
    struct rows books;
    target.orders = *orders;
    target.stock_left = *left;
    bool good = audit_read(&asker, &books, &error);
    rows_fini(&books);
    assert_false(good);
    t_says(error.text, said);
}

TEST_WITH(test_books_that_cannot_be_read, program_alone, end)
{
    const struct shop_query none = {.sql = NULL};
    describe("conditional", "");
    expect_refusal(&(struct shop_query){.sql = "SELECT nothing"}, &none, "orders: PostgreSQL:");
    expect_refusal(&(struct shop_query){.sql = "SELECT {user}"}, &none, "{product} and {stock}");
    expect_refusal(&(struct shop_query){.command = "echo why >&2; exit 3"}, &none,
                   "orders: sh ended with exit status 3: why");
    expect_refusal(&(struct shop_query){.command = "echo no JSON"}, &none, "printed no JSON");
    expect_refusal(&(struct shop_query){.command = "echo '{}'"}, &none, "an array of rows");
    expect_refusal(&(struct shop_query){.command = "echo '[1]'"}, &none, "row 1 is no array");
    expect_refusal(&(struct shop_query){.command = "echo '[[1, 2, -3]]'"}, &none, "units of row 1");
    expect_refusal(&(struct shop_query){.command = "echo '[[1, 2, 3], [4, 5, 1000000001]]'"}, &none,
                   "units of row 2 are no whole number from 0 to 1000000000");
    expect_refusal(&(struct shop_query){.command = "echo '[[1, 2, \"9223372036854775807\"]]'"},
                   &none, "units of row 1 are no whole number from 0 to 1000000000");
    expect_refusal(&none, &(struct shop_query){.command = "echo '\"many\"'"}, "one whole number");
    expect_refusal(&none, &(struct shop_query){.command = "echo 9223372036854775807"},
                   "one whole number from -1000000000000 to 1000000000000");
    expect_refusal(&none, &(struct shop_query){.command = "echo -1000000000001"},
                   "one whole number from -1000000000000 to 1000000000000");
    asker.limit_ms = 100;
    expect_refusal(&(struct shop_query){.command = "exec sleep 600"}, &none,
                   "orders: sh did not end within 100 ms");
}

/* The session's own encoding does not matter; what is no text in any is refused, and does not move
 * what stands behind it. */
TEST_WITH(test_books_in_another_encoding, program_alone, end)
{
    struct rows books;
    char database[600];
    describe("conditional", "");
    snprintf(database, sizeof database, "%s client_encoding=LATIN1", stack_database());
    target.database = database;
    target.stock_left.sql = NULL;
    target.orders.sql = "SELECT 7, 'Jos' || chr(233), 2";
    t_done(audit_read(&asker, &books, &error), error);
    HAS(books.orders[0], user, "Jos\xc3\xa9", quantity, 2);
    rows_fini(&books);
    expect_refusal(&(struct shop_query){.sql = "SET client_encoding = LATIN1; "
                                               "SELECT 7, 'Jos' || chr(233), 2"},
                   &(struct shop_query){.sql = NULL}, "orders: row 1 is not text in UTF-8");
}

TEST_WITH(test_books_by_a_command, program_alone, end)
{
    struct rows books;
    describe("conditional", "");
    target.orders =
        (struct shop_query){.command = "echo aside >&2; echo '[[7, \"ann\"], [\"b\", 8, 2]]'"};
    target.stock_left = (struct shop_query){.command = "echo $STOCK"};
    t_done(audit_read(&asker, &books, &error), error);
    HAS(books, left, OWN_SHOP_STOCK, orders_count, 2, orders[0].id, "7", orders[0].user, "ann",
        orders[0].quantity, 1, orders[1].user, "8", orders[1].quantity, 2);
    rows_fini(&books);
}

TEST_WITH(test_a_shop_that_is_never_quiet, program_alone, end)
{
    describe("conditional", "");
    target.quiet = (struct shop_query){.sql = "SELECT false"};
    target.quiet.within_us = 1000;
    assert_false(audit_wait_quiet(&asker, &error));
    t_says(error.text, "still under way");
    target.quiet = (struct shop_query){.sql = "SELECT count(*) > 0 FROM pg_class"};
    assert_true(audit_wait_quiet(&asker, &error));
}
