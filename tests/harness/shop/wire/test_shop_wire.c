/* What a shop gets on the wire, and what its answers' limits are: lengths and chunks, connections
 * kept or closed, nothing sent twice by itself, too much and too late, and the ledger of it. */
#include "harness/fixtures/has.h"
#include "harness/shop/wire/wire_shop.h"
#include "lib/t.h"

#include <stdlib.h>
#include <string.h>

static struct shop_pair header;

static int begin(void **state)
{
    wire_shop_begin(state);
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
    assert_int_equal(wire_shop_buy(LISTENER_ANSWERS, WIRE_SOLD, 3), 3);
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
    assert_int_equal(wire_shop_buy(LISTENER_ANSWERS, WIRE_SOLD, 2), 2);
    assert_int_equal(t_count(wire.heard, "\r\nTransfer-Encoding: chunked\r\n"), 2);
    assert_int_equal(t_count(wire.heard, "Content-Length"), 0);
    assert_int_equal(t_count(wire.heard, "\r\nConnection: close\r\n"), 2);
    assert_int_equal(t_count(wire.heard, "\r\n0\r\n\r\n"), 2);
}

TEST(test_no_body)
{
    wire.target.purchase.body = NULL;
    wire.target.purchase.header_count = 0;
    assert_int_equal(wire_shop_buy(LISTENER_ANSWERS, WIRE_SOLD, 1), 1);
    assert_int_equal(t_count(wire.heard, "\r\nContent-Length: 0\r\n"), 1);
    assert_int_equal(t_count(wire.heard, "Content-Type"), 0);
}

/* The kept connection ends after the second request came: a shop may have sold by then, so the
 * request is not sent again, and its answer is not known. */
static void is_not_sent_twice(void)
{
    assert_int_equal(wire_shop_buy(LISTENER_HANGS_UP, WIRE_SOLD, 2), 2);
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
    wire_shop_buy(LISTENER_IS_SILENT, WIRE_SOLD, 1);
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
    wire_shop_buy(LISTENER_ANSWERS, answer, 1);
    free(answer);
    assert_int_equal(wire.sale.ledger.ops[0].last, SHOP_UNKNOWN);
    t_says(wire.sale.ledger.load.first_failure, "more than 1048576 bytes");
}

/* All of them are sent again: at once, or when the first is answered. */
TEST(test_repeats_have_the_same_key)
{
    wire.target.repeats = 1;
    assert_int_equal(wire_shop_buy(LISTENER_ANSWERS, WIRE_SOLD, 2), 4);
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
    static struct shop_request login;
    login = (struct shop_request){.method = "POST", .url = wire.url};
    wire.target.steps = &login;
    wire.target.step_count = 1;
    wire.target.repeats = 1;
    assert_int_equal(wire_shop_buy(LISTENER_ANSWERS, answer, 2), 6);
    assert_int_equal(t_count(wire.heard, "\r\nCookie: session=s1\r\n"), 4); /* no login has one */
}

TEST(test_the_ledger_has_each_twice)
{
    static const char *const begun[] = {"\"at_us\":", "\"op\":", NULL};
    static const char *const ended[] = {"\"is\":\"sold\"", "\"order\":\"17\"", NULL};
    wire_shop_buy(LISTENER_ANSWERS, WIRE_SOLD, 2);
    assert_int_equal(wire_shop_ledger(begun), 2);
    assert_int_equal(wire_shop_ledger(ended), 2);
    /* The first line, the product, the end of the load, and "done". */
    assert_int_equal(wire_shop_ledger((const char *const[]){NULL}), 8);
}

TEST_EACH(begin, wire_shop_end)
