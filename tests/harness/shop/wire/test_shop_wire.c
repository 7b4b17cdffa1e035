/*
 * What a shop gets on the wire, and what its answers' limits are: lengths and chunks, connections
 * kept or closed, nothing sent twice by itself, too much and too late, and the ledger of it. Steps
 * before a purchase, and what their answers mean: a login that says no with 200 ends the purchase
 * there as the file has it, and what no line matches is looked at by its status, as without an
 * outcome.
 */
#include "harness/fixtures/has.h"
#include "harness/shop/wire/listener.h"
#include "lib/t.h"
#include "loadtest/shop/sale/sale.h"

#include <stdlib.h>
#include <string.h>

#define SOLD "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"id\": 17}"

/* A listener as a shop: one unit, three users, 7 to 9; 200 is sold. */
static struct wire_shop {
    const char *folder; /* has the last sale's ledger */
    char url[128];      /* of the purchase: /buy */
    char login[128];    /* /login */
    int64_t timeout_ms;
    struct shop_rule sold;
    struct target target; /* POSTs to `url`, without a body */
    struct sale sale;
    char heard[262144];
} wire;

static void open_shop(void)
{
    wire = (struct wire_shop){.timeout_ms = t_patience_us() / 1000,
                              .folder = t_folder(),
                              .sold = {.meaning = SHOP_SOLD, .status_from = 200, .status_to = 200}};
    wire.target = (struct target){
        .path = "a listener",
        .name = "a listener",
        .stock = 1,
        .user_from = 7,
        .user_to = 9,
        .purchase = {.method = "POST", .url = wire.url, .rules = &wire.sold, .rule_count = 1}};
}

static int end(void **state)
{
    (void)state;
    sale_fini(&wire.sale);
    return 0;
}

/* So many purchases at a shop that gives this answer to whatever it hears; how many requests
 * came. */
static size_t buy_as(enum listener_way way, const char *answer, int64_t buyers)
{
    struct error error = {.text = ""};
    struct listener *listener = listener_start(way, answer);
    int port = listener_port(listener);
    snprintf(wire.url, sizeof wire.url, "http://127.0.0.1:%d/buy", port);
    snprintf(wire.login, sizeof wire.login, "http://127.0.0.1:%d/login", port);
    const struct sale_plan plan = {.target = &wire.target,
                                   .folder = wire.folder,
                                   .call = {wire.timeout_ms, ""},
                                   .connections = 1,
                                   .buyers = buyers,
                                   .seed = 1};
    sale_fini(&wire.sale);
    bool held = sale_hold(&plan, &wire.sale, &error);
    size_t count = listener_stop(listener, wire.heard, sizeof wire.heard);
    t_done(held, error);
    return count;
}

/* The ledger's lines in which all of the texts stand; the last is NULL. */
static size_t ledger_lines(const char *const *texts)
{
    char line[4096];
    size_t count = 0;
    FILE *file = t_open(t_text("%s/ledger.jsonl", wire.folder));
    while (fgets(line, sizeof line, file)) {
        size_t i = 0;
        while (texts[i] && strstr(line, texts[i]))
            i++;
        count += !texts[i];
    }
    fclose(file);
    return count;
}

static struct shop_pair header;
static struct shop_request login;

static int begin(void **state)
{
    (void)state;
    open_shop();
    header = (struct shop_pair){"Content-Type", "application/json"};
    wire.sold.order = "/id";
    wire.target.purchase.headers = &header;
    wire.target.purchase.header_count = 1;
    wire.target.purchase.body = "{\"user\": \"{user}\", \"key\": \"{key}\"}";
    wire.target.purchase.body_form = FILL_JSON;
    return 0;
}

TEST(test_a_body_with_its_length)
{
    assert_int_equal(buy_as(LISTENER_ANSWERS, SOLD, 3), 3);
    assert_int_equal(t_count(wire.heard, "POST /buy HTTP/1.1\r\n"), 3);
    assert_int_equal(t_count(wire.heard, "\r\nContent-Length: "), 3);
    assert_int_equal(t_count(wire.heard, "\r\nContent-Type: application/json\r\n"), 3);
    assert_int_equal(t_count(wire.heard, "Transfer-Encoding"), 0);
    assert_int_equal(t_count(wire.heard, "Expect"), 0);
    assert_int_equal(t_count(wire.heard, "Connection: close"), 0);
    assert_int_equal(t_count(wire.heard, "{\"user\": \"8\", \"key\": \""), 1);
    HAS(wire.sale.ledger.ops[2], user, "9", order, "17");
    t_says(wire.heard, wire.sale.ledger.ops[0].key);
}

TEST(test_a_body_in_chunks)
{
    wire.target.purchase.chunked = wire.target.purchase.closes = true;
    assert_int_equal(buy_as(LISTENER_ANSWERS, SOLD, 2), 2);
    assert_int_equal(t_count(wire.heard, "\r\nTransfer-Encoding: chunked\r\n"), 2);
    assert_int_equal(t_count(wire.heard, "Content-Length"), 0);
    assert_int_equal(t_count(wire.heard, "\r\nConnection: close\r\n"), 2);
    assert_int_equal(t_count(wire.heard, "\r\n0\r\n\r\n"), 2);
}

TEST(test_no_body)
{
    wire.target.purchase.body = NULL;
    wire.target.purchase.header_count = 0;
    assert_int_equal(buy_as(LISTENER_ANSWERS, SOLD, 1), 1);
    assert_int_equal(t_count(wire.heard, "\r\nContent-Length: 0\r\n"), 1);
    assert_int_equal(t_count(wire.heard, "Content-Type"), 0);
}

/* The kept connection ends after the second request came: a shop may have sold by then, so the
 * request is not sent again, and its answer is not known. */
static void is_not_sent_twice(void)
{
    assert_int_equal(buy_as(LISTENER_HANGS_UP, SOLD, 2), 2);
    HAS(wire.sale.ledger, ops_count, 2, ops[0].last, SHOP_SOLD, ops[1].last, SHOP_UNKNOWN,
        ops[1].status, 0, ops[1].unasked, false, load.failures, 1);
}

TEST(test_nothing_is_sent_twice_by_itself)
{
    is_not_sent_twice();
}

/* curl has nothing to rewind then. */
TEST(test_nor_is_what_has_no_body)
{
    wire.target.purchase.body = NULL;
    is_not_sent_twice();
}

TEST(test_an_answer_that_does_not_come)
{
    wire.timeout_ms = 50;
    buy_as(LISTENER_IS_SILENT, SOLD, 1);
    assert_int_equal(wire.sale.ledger.ops[0].last, SHOP_UNKNOWN);
    assert_non_null(strcasestr(wire.sale.ledger.load.first_failure, "timeout"));
}

TEST(test_an_answer_that_is_too_long)
{
    size_t size = CALL_ANSWER_MAX + 200;
    char *answer = malloc(size);
    assert_non_null(answer);
    int head = snprintf(answer, size, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
                        CALL_ANSWER_MAX + 1);
    memset(answer + head, 'x', CALL_ANSWER_MAX + 1);
    answer[head + CALL_ANSWER_MAX + 1] = '\0';
    buy_as(LISTENER_ANSWERS, answer, 1);
    free(answer);
    assert_int_equal(wire.sale.ledger.ops[0].last, SHOP_UNKNOWN);
    t_says(wire.sale.ledger.load.first_failure, "more than 1048576 bytes");
}

/* All of them are sent again: at once, or when the first is answered. */
TEST(test_repeats_have_the_same_key)
{
    wire.target.repeats = 1;
    assert_int_equal(buy_as(LISTENER_ANSWERS, SOLD, 2), 4);
    size_t repeats = 0;
    for (size_t i = 0; i < wire.sale.ledger.ops_count; i++) {
        const struct ledger_op *one = &wire.sale.ledger.ops[i];
        repeats += one->repeat;
        assert_int_equal(t_count(wire.heard, one->key), 2);
    }
    assert_int_equal(wire.sale.ledger.ops_count, 4);
    assert_int_equal(repeats, 2);
}

/* Those that its first has had by then. */
TEST(test_repeats_have_their_users_cookies)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nSet-Cookie: session=s1\r\n"
                                 "Content-Length: 10\r\n\r\n{\"id\": 17}";
    login = (struct shop_request){.method = "POST", .url = wire.url};
    wire.target.steps = &login;
    wire.target.step_count = 1;
    wire.target.repeats = 1;
    assert_int_equal(buy_as(LISTENER_ANSWERS, answer, 2), 6);
    assert_int_equal(t_count(wire.heard, "\r\nCookie: session=s1\r\n"), 4); /* no login has one */
}

TEST(test_the_ledger_has_each_twice)
{
    static const char *const begun[] = {"\"at_us\":", "\"op\":", NULL};
    static const char *const ended[] = {"\"is\":\"sold\"", "\"order\":\"17\"", NULL};
    buy_as(LISTENER_ANSWERS, SOLD, 2);
    assert_int_equal(ledger_lines(begun), 2);
    assert_int_equal(ledger_lines(ended), 2);
    /* The first line, the product, the end of the load, and "done". */
    assert_int_equal(ledger_lines((const char *const[]){NULL}), 8);
}

/* --- steps --- */

static const char no[] = "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"code\": 5001}";
static const char yes[] = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"code\": 0}";
static const char busy[] = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy";
static const char wrong[] = "HTTP/1.1 500 Wrong\r\nContent-Length: 5\r\n\r\nwrong";

static struct shop_rule noes[2];

static int begin_with_step(void **state)
{
    (void)state;
    open_shop();
    noes[0] = (struct shop_rule){.meaning = SHOP_REFUSED, .pointer = "/code", .equals = "5001"};
    noes[1] = (struct shop_rule){
        .meaning = SHOP_SHED, .status_from = 503, .status_to = 503, .contains = "usy"};
    login =
        (struct shop_request){.method = "POST", .url = wire.login, .rules = noes, .rule_count = 2};
    wire.target.steps = &login;
    wire.target.step_count = 1;
    return 0;
}

/* Two purchases, one after the other; so many requests came. */
static size_t buy(const char *answer)
{
    size_t count = buy_as(LISTENER_ANSWERS, answer, 2);
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

TEST_WITH(a_no_with_200_ends_the_purchase, begin_with_step, end)
{
    expect_ended(no, SHOP_REFUSED, 200);
}

TEST_WITH(a_step_may_shed, begin_with_step, end)
{
    expect_ended(busy, SHOP_SHED, 503);
}

/* The first line that matches counts, also where the status is the one that is expected. */
TEST_WITH(the_first_line_counts, begin_with_step, end)
{
    noes[1] = noes[0];
    noes[0] = (struct shop_rule){.meaning = SHOP_SOLD_OUT, .status_from = 200, .status_to = 299};
    login.expect = 200;
    expect_ended(no, SHOP_SOLD_OUT, 200);
}

/* As long as nothing says that it is a no, it is what its status says. */
TEST_WITH(without_an_outcome_200_is_a_yes, begin_with_step, end)
{
    login.rules = NULL;
    login.rule_count = 0;
    assert_int_equal(buy(no), 4);
    HAS(wire.sale.ledger.ops[0], unasked, false, last, SHOP_SOLD);
}

TEST_WITH(what_no_line_matches_is_looked_at_by_its_status, begin_with_step, end)
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
TEST_WITH(what_a_step_takes_goes_into_the_next_request, begin_with_step, end)
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
TEST_WITH(what_a_step_ended_has_no_repeat, begin_with_step, end)
{
    wire.target.repeats = 1;
    expect_ended(no, SHOP_REFUSED, 200);
}

TEST_WITH(the_ledger_says_that_it_was_not_sent, begin_with_step, end)
{
    static const char *const ended[] = {"\"asked\":false", "\"is\":\"refused\"", "\"status\":200",
                                        "\"end_us\":", NULL};
    buy(no);
    assert_int_equal(ledger_lines(ended), 2);
    assert_int_equal(ledger_lines((const char *const[]){"\"sent_us\"", NULL}), 0);
}

TEST_EACH(begin, end)
