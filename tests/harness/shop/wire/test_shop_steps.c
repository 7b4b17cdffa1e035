/*
 * Steps before a purchase, and what their answers mean: a login that says no with 200 ends the
 * purchase there as the file has it, and what no line matches is looked at by its status, as
 * without an outcome.
 */
#include "harness/fixtures/has.h"
#include "harness/shop/wire/wire_shop.h"
#include "lib/t.h"

#include <string.h>

static const char no[] = "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"code\": 5001}";
static const char yes[] = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"code\": 0}";
static const char busy[] = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy";
static const char wrong[] = "HTTP/1.1 500 Wrong\r\nContent-Length: 5\r\n\r\nwrong";

static struct shop_rule noes[2];
static struct shop_request login;

static int begin(void **state)
{
    noes[0] = (struct shop_rule){.meaning = SHOP_REFUSED, .pointer = "/code", .equals = "5001"};
    noes[1] = (struct shop_rule){
        .meaning = SHOP_SHED, .status_from = 503, .status_to = 503, .contains = "usy"};
    login =
        (struct shop_request){.method = "POST", .url = wire.login, .rules = noes, .rule_count = 2};
    wire_shop_begin(state);
    wire.target.steps = &login;
    wire.target.step_count = 1;
    return 0;
}

/* Two purchases, one after the other; so many requests came. */
static size_t buy(const char *answer)
{
    size_t count = wire_shop_buy(LISTENER_ANSWERS, answer, 2);
    assert_int_equal(wire.sale.ledger.ops_count, 2);
    return count;
}

/* Neither was sent; both ended so, which is no failure of the load. */
static void expect_ended(const char *answer, enum shop_meaning meaning, int status)
{
    assert_int_equal(buy(answer), 2);
    assert_null(strstr(wire.heard, "/buy"));
    for (size_t i = 0; i < wire.sale.ledger.ops_count; i++) {
        const struct ledger_op *one = &wire.sale.ledger.ops[i];
        HAS(*one, unasked, true, first, meaning, last, meaning, status, status);
        assert_true(one->end_us >= one->due_us);
        assert_null(one->order);
    }
    HAS(wire.sale.ledger.load, failures, 0, answered, 2);
}

TEST(a_no_with_200_ends_the_purchase)
{
    expect_ended(no, SHOP_REFUSED, 200);
}

TEST(a_step_may_shed)
{
    expect_ended(busy, SHOP_SHED, 503);
}

/* The first line that matches counts, also where the status is the one that is expected. */
TEST(the_first_line_counts)
{
    noes[1] = noes[0];
    noes[0] = (struct shop_rule){.meaning = SHOP_SOLD_OUT, .status_from = 200, .status_to = 299};
    login.expect = 200;
    expect_ended(no, SHOP_SOLD_OUT, 200);
}

/* As long as nothing says that it is a no, it is what its status says. */
TEST(without_an_outcome_200_is_a_yes)
{
    login.rules = NULL;
    login.rule_count = 0;
    assert_int_equal(buy(no), 4);
    HAS(wire.sale.ledger.ops[0], unasked, false, last, SHOP_SOLD);
}

TEST(what_no_line_matches_is_looked_at_by_its_status)
{
    assert_int_equal(buy(yes), 4);
    t_says(wire.heard, "POST /login");
    t_says(wire.heard, "POST /buy");
    assert_int_equal(wire.sale.ledger.ops[1].last, SHOP_SOLD);
    assert_int_equal(buy(wrong), 2);
    HAS(wire.sale, ledger.ops[0].unasked, true, ledger.ops[0].last, SHOP_UNKNOWN,
        ledger.ops[0].end_us, LEDGER_NEVER, ledger.load.failures, 2, judgement.verdict,
        SHOP_VERDICT_INVALID);
    t_says(wire.sale.ledger.load.first_failure, "was answered with status 500");
}

/* A nonce in a header, a cookie and a value of the body, which the purchase says again in a header
 * of its own. */
TEST(what_a_step_takes_goes_into_the_next_request)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nX-Nonce: n-71\r\nSet-Cookie: other=1\r\n"
                                 "Set-Cookie: csrf=c-72; Path=/; HttpOnly\r\n"
                                 "Content-Length: 9\r\n\r\n{\"n\": 73}";
    static struct shop_take takes[] = {{"nonce", SHOP_HEADER, "x-nonce"},
                                       {"csrf", SHOP_COOKIE, "csrf"},
                                       {"number", SHOP_BODY, "/n"}};
    static struct shop_pair headers[] = {{"X-All", "{nonce} {csrf} {number}"}};
    login.takes = takes;
    login.take_count = 3;
    wire.target.purchase.headers = headers;
    wire.target.purchase.header_count = 1;
    assert_int_equal(buy(answer), 4);
    t_says(wire.heard, "\r\nX-All: n-71 c-72 73\r\n");
    assert_int_equal(buy(yes), 2);
    t_says(wire.sale.ledger.load.first_failure, "its answer has nothing at x-nonce");
}

/* A request that was never sent is not sent again. */
TEST(what_a_step_ended_has_no_repeat)
{
    wire.target.repeats = 1;
    expect_ended(no, SHOP_REFUSED, 200);
}

TEST(the_ledger_says_that_it_was_not_sent)
{
    static const char *const ended[] = {"\"asked\":false", "\"is\":\"refused\"", "\"status\":200",
                                        "\"end_us\":", NULL};
    buy(no);
    assert_int_equal(wire_shop_ledger(ended), 2);
    assert_int_equal(wire_shop_ledger((const char *const[]){"\"sent_us\"", NULL}), 0);
}

TEST_EACH(begin, wire_shop_end)
