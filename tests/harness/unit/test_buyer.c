/* What a buyer of the great sale does next, and what is counted of it: no server, no connection. */
#include "harness/fixtures/has.h"
#include "lib/t.h"

#include "loadtest/crowd/buyer.h"

#include <string.h>

static struct hall hall;
static struct crowd_tally tally;
static struct buyer buyer;
static struct random random_state;

static const struct buyer_reply sold = {.status = 201, .order = "order-1"};
static const struct buyer_reply other = {.status = 200, .order = "order-2"};
static const struct buyer_reply gone = {.status = 409, .sold_out = true};
static const struct buyer_reply limited = {.status = 409, .limit_reached = true};
static const struct buyer_reply busy = {.status = 503};
static const struct buyer_reply silence = {.status = 0};

/* A buyer of three tickets who does nothing else, on the first of two nights. */
BEFORE_EACH()
{
    hall_init(&hall, 1000001, 2, 21);
    tally = (struct crowd_tally){0};
    buyer_arrive(&buyer, &hall, 7, &random_state);
    buyer.night = &hall.nights[0];
    buyer.step = BUYER_BUYS;
    buyer.quantity = 3;
    buyer.looks = 0;
    buyer.presses_twice = buyer.repeats = buyer.comes_back = false;
}

static bool learn(const struct buyer_reply *reply)
{
    return buyer_learn(&buyer, &hall, &tally, reply, NULL, &random_state);
}

static bool learn_two(const struct buyer_reply *reply, const struct buyer_reply *second)
{
    return buyer_learn(&buyer, &hall, &tally, reply, second, &random_state);
}

TEST(an_order_is_counted_once)
{
    HAS(hall, nights[0].tickets, 11, nights[1].tickets, 10);
    assert_true(learn(&sold));
    assert_int_equal(buyer.step, BUYER_GOES);
    assert_int_equal(tally.bought, 1);
    HAS(hall, sold, 3, nights[0].sold, 3);
}

/* The bytes of what the buyer asks now. */
static const char *asked_with(const char *query)
{
    static char bytes[REQUEST_BYTES];
    struct http_request request;
    buyer_ask(&buyer, "batch", query, &request);
    http_request_write(&request, "here", bytes);
    return bytes;
}

TEST(who_looks_looks_first)
{
    buyer.step = BUYER_LOOKS;
    buyer.looks = 2;
    const char *request = asked_with("");
    t_says(request, "GET /products/1000001 HTTP/1.1");
    assert_true(learn(&(struct buyer_reply){.status = 200}));
    assert_int_equal(buyer.step, BUYER_LOOKS);
    assert_true(learn(&busy)); /* a page that does not come is not worth waiting for */
    assert_int_equal(buyer.step, BUYER_BUYS);
    assert_int_equal(tally.looks, 2);
    request = asked_with("&wait_ms=5");
    t_says(request, "POST /orders?strategy=batch&wait_ms=5 HTTP/1.1");
    t_says(request, "\"quantity\":3");
    t_says(request, buyer.key);
}

TEST(what_was_not_done_is_asked_again_with_the_same_key)
{
    char key[BUYER_KEY_SIZE];
    memcpy(key, buyer.key, sizeof key);
    assert_false(learn(&busy));
    assert_false(learn(&silence));
    HAS(buyer, step, BUYER_BUYS, key, key);
    assert_int_equal(tally.sent_again, 2);
    assert_true(learn(&sold));
    assert_int_equal(hall.sold, 3);
}

/* Less of the same night, then another night, then home. Another quantity is another order, which
 * wants another key. */
TEST(who_is_refused_asks_for_less)
{
    char key[BUYER_KEY_SIZE];
    for (int64_t left = 2; left > 0; left--) {
        memcpy(key, buyer.key, sizeof key);
        assert_true(learn(&gone));
        assert_int_equal(buyer.quantity, left);
        assert_string_not_equal(buyer.key, key);
        assert_false(hall.nights[0].gone);
    }
    assert_true(learn(&gone));
    assert_true(hall.nights[0].gone);
    assert_ptr_equal(buyer.night, &hall.nights[1]);
    assert_int_equal(buyer.step, BUYER_BUYS);
    assert_true(learn(&gone));
    assert_int_equal(buyer.step, BUYER_GOES);
    assert_int_equal(hall.open_count, 0);
    assert_int_equal(tally.sold_out, 4);
}

TEST(a_repeat_must_get_the_same_order)
{
    buyer.repeats = true;
    assert_true(learn(&sold));
    assert_int_equal(buyer.step, BUYER_REPEATS);
    assert_false(learn(&busy));
    assert_true(learn(&sold));
    assert_int_equal(buyer.step, BUYER_GOES);
    HAS(tally, repeated, 1, repeated_wrongly, 0);
    assert_int_equal(hall.sold, 3);
    buyer.step = BUYER_REPEATS;
    assert_true(learn(&other));
    buyer.step = BUYER_REPEATS;
    assert_true(learn(&gone));
    HAS(tally, repeated, 3, repeated_wrongly, 2);
}

TEST(two_presses_are_one_order)
{
    buyer.presses_twice = true;
    assert_true(learn_two(&sold, &sold));
    assert_int_equal(hall.sold, 3);
    HAS(tally, bought, 1, repeated, 1, repeated_wrongly, 0);

    before_each();
    assert_true(learn_two(&sold, &other));
    assert_int_equal(tally.repeated_wrongly, 1);
    before_each();
    assert_true(learn_two(&gone, &sold)); /* one key was told both */
    assert_int_equal(tally.repeated_wrongly, 1);
    assert_int_equal(hall.sold, 3);
    before_each();
    assert_true(learn_two(&gone, &gone));
    assert_int_equal(tally.repeated_wrongly, 0);
    before_each();
    assert_true(learn_two(&silence, &sold)); /* the second was answered: that is enough */
    assert_int_equal(tally.repeated, 0);
    assert_int_equal(hall.sold, 3);
    before_each();
    assert_false(learn_two(&silence, &busy));
}

TEST(who_comes_back_wants_one_too_many)
{
    buyer.comes_back = true;
    assert_true(learn(&sold));
    HAS(buyer, step, BUYER_COMES_BACK, quantity, 2);
    assert_true(learn(&limited));
    assert_int_equal(buyer.step, BUYER_GOES);
    HAS(tally, came_back, 1, over_limit, 0);
    buyer.step = BUYER_COMES_BACK;
    assert_true(learn(&other));
    assert_int_equal(tally.over_limit, 1);
    assert_int_equal(hall.sold, 5);
}

TEST(who_comes_late_must_get_nothing)
{
    hall_close(&hall, &hall.nights[0]);
    hall_close(&hall, &hall.nights[1]);
    buyer_arrive(&buyer, &hall, 8, &random_state);
    HAS(buyer, late, true, quantity, 1);
    assert_true(learn(&gone));
    assert_int_equal(buyer.step, BUYER_GOES);
    buyer_arrive(&buyer, &hall, 9, &random_state);
    assert_true(learn(&sold));
    HAS(tally, late, 2, late_sold, 1);
}

TEST(what_makes_no_sense_is_counted)
{
    assert_true(learn(&limited)); /* it has nothing yet */
    assert_int_equal(buyer.step, BUYER_GOES);
    assert_int_equal(tally.unexpected, 1);
    before_each();
    assert_true(learn(&(struct buyer_reply){.status = 500}));
    buyer.step = BUYER_BUYS;
    assert_true(learn(&(struct buyer_reply){.status = 201})); /* sold, and nobody can say what */
    assert_int_equal(tally.unexpected, 2);
    assert_int_equal(hall.sold, 0);
}

TEST(answers_are_read)
{
    struct buyer_reply reply;
    const char order[] = "{\"id\": \"0193\", \"status\": \"confirmed\"}";
    const char problem[] = "{\"code\": \"limit_reached\", \"id\": \"no order\"}";
    buyer_read(&reply,
               &(struct answer){.status = 202, .body = order, .body_length = strlen(order)});
    assert_string_equal(reply.order, "0193");
    buyer_read(&reply,
               &(struct answer){.status = 409, .body = problem, .body_length = strlen(problem)});
    HAS(reply, limit_reached, true, sold_out, false, order, "");
    buyer_read(&reply, &(struct answer){.status = 200, .body = "<html>", .body_length = 6});
    assert_string_equal(reply.order, "");
}

TEST(what_never_says_sold_out_ends)
{
    hall_sell(&hall, &hall.nights[1], 19);
    assert_false(hall.nights[1].gone);
    hall_sell(&hall, &hall.nights[1], 1);
    HAS(hall, nights[1].gone, true, open_count, 1);
}

TEST(the_line_empties)
{
    char text[200];
    hall_line(&hall, 9876.5, 61, text, sizeof text);
    assert_string_equal(text, "[####################] 21 left, 0 sold, 9,876 orders/s, 61 s");
    hall_sell(&hall, &hall.nights[0], 11);
    hall_line(&hall, 0, 62, text, sizeof text);
    assert_string_equal(text, "[##########          ] 10 left, 11 sold, 0 orders/s, 62 s");
    hall_sell(&hall, &hall.nights[1], 14);
    hall_line(&hall, 0, 63, text, sizeof text);
    assert_string_equal(text, "[                    ] 0 left, 25 sold, 0 orders/s, 63 s");
    hall_init(&hall, 1, HALL_NIGHTS_MAX, 1400000000);
    hall_name(&hall, &hall.nights[16], text, sizeof text);
    assert_string_equal(text, "Dublin, 17 August");
    hall_name(&hall, &hall.nights[17], text, sizeof text);
    assert_string_equal(text, "Night 18");
    assert_string_equal(hall_figure(-1400000, text), "-1,400,000");
    assert_string_equal(hall_figure(999, text), "999");
    assert_string_equal(hall_figure(-100, text), "-100");
}
