/* The same of orders that wait to be paid: what is wrong with a payment or with the end of a hold
 * is flagged by the invariant that it breaks and by no other. Holds are of a second. */
#include "lib/t.h"

#include "harness/check/hand.h"

#define SECOND INT64_C(1000000)

/* Paid, too late, never paid, cancelled while it was held, and still held. */
static void begin_holds(void)
{
    begin(5);
    hand.ledger.products[0].limit = 1;
    hold("a", 1, 10, 20);
    pay("a", 30, 40, 200, "");
    pay("a", 50, 60, 200, "");
    hand.orders[0].state = LEDGER_CONFIRMED;
    hold("b", 2, 10, 20);
    pay("b", SECOND + 20, SECOND + 30, 409, "expired");
    look("b", SECOND + 40, SECOND + 50, LEDGER_PENDING); /* its units are on their way */
    ends("b", LEDGER_EXPIRED);
    look("b", SECOND + 60, SECOND + 70, LEDGER_EXPIRED);
    hold("c", 3, 10, 20);
    cancel("c", 30, 40, 200);
    ends("c", LEDGER_CANCELLED);
    pay("c", 50, 60, 409, "not_payable");
    hold("d", 4, 10, 20);
    cancel("d", SECOND + 90, SECOND + 95, 409);
    ends("d", LEDGER_EXPIRED);
    hold("e", 5, 10, 20);
    hold("f", 2, SECOND + 80, SECOND + 85); /* b's user buys again */
}

TEST(a_clean_one_passes)
{
    begin_holds();
    is_clean();
    assert_int_equal(hand.result.confirmed, 6);
    assert_int_equal(hand.result.pending, 2);
    assert_int_equal(hand.result.expired, 2);
    assert_int_equal(hand.result.paid, 2);
    assert_int_equal(hand.result.too_late, 1);
    assert_int_equal(hand.result.exact[EXACT_YES], 1);
}

/* Held units are not there to be sold. */
TEST(held_units_are_sold_as_well)
{
    begin(1);
    hold("a", 1, 10, 20);
    sell("b", 2, NULL, 30, 40);
    finds(FINDING_OVERSOLD, 1, 1);
    assert_int_equal(hand.result.findings.counts[FINDING_NOT_LINEARIZABLE], 1);
    ends("a", LEDGER_EXPIRED); /* by its rows nothing is missing in the end */
    finds(FINDING_OVERSOLD, 1, 1);
    last()->start_us += SECOND;
    last()->end_us += SECOND;
    is_clean();
}

TEST(a_unit_that_comes_back_twice)
{
    begin_holds();
    hand.product.stock++;
    finds(FINDING_CONSERVATION, 1, 1);
}

TEST(a_unit_that_does_not_come_back)
{
    begin_holds();
    hand.product.stock--;
    finds(FINDING_CONSERVATION, 1, 1);
}

TEST(paid_and_lost)
{
    begin(5);
    hold("a", 1, 10, 20);
    pay("a", 30, 40, 200, "");
    finds(FINDING_PAID_LOST, 1, 1); /* it still waits to be paid */
    ends("a", LEDGER_EXPIRED);
    finds(FINDING_PAID_LOST, 1, 1);
    answer(last(), 504, "outcome_unknown");
    last()->state = LEDGER_STATE_NONE;
    is_clean();
    pay("x", 50, 60, 200, "");
    finds(FINDING_PAID_LOST, 1, 0); /* of an order that nobody has seen */
    pay("x", 70, 80, 200, "");      /* once more, by whom it was not answered at once */
    finds(FINDING_PAID_LOST, 1, 0);
}

/* Seen while it was held, as on a machine on which the payment comes late. */
TEST(seen_and_paid_and_lost)
{
    begin(5);
    look("x", 10, 20, LEDGER_PENDING);
    finds(FINDING_ABSENT, 1, 0);
    pay("x", 30, 40, 200, "");
    finds(FINDING_PAID_LOST, 1, 0);
}

TEST(paid_and_expired)
{
    begin(5);
    hold("a", 1, 10, 20);
    hand.orders[0].state = LEDGER_CONFIRMED;
    pay("a", SECOND - 5, SECOND + 30, 200, "");
    is_clean();
    pay("a", SECOND - 5, SECOND + 30, 409, "expired"); /* at the same time */
    finds(FINDING_PAID_EXPIRED, 1, 1);
    assert_int_equal(hand.result.findings.items[0].ops_count, 2);
    answer(last(), 503, "wait_timeout");
    is_clean();
    look("a", 2 * SECOND, 2 * SECOND + 10, LEDGER_EXPIRED);
    finds(FINDING_PAID_EXPIRED, 1, 1);
}

TEST(too_late_and_sold)
{
    begin(5);
    hold("a", 1, 10, 20);
    pay("a", 2 * SECOND, 2 * SECOND + 10, 0, ""); /* whatever became of it, it came first */
    last()->result = LEDGER_INFO;
    last()->state = LEDGER_STATE_NONE;
    pay("a", 2 * SECOND + 20, 2 * SECOND + 30, 409, "expired");
    hand.orders[0].state = LEDGER_CONFIRMED;
    finds(FINDING_PAID_EXPIRED, 1, 1);
    ends("a", LEDGER_EXPIRED);
    is_clean();
}

TEST(sold_without_a_payment)
{
    begin(5);
    hold("a", 1, 10, 20);
    hand.orders[0].state = LEDGER_CONFIRMED;
    finds(FINDING_INVENTED, 1, 1);
    pay("a", 30, 40, 503, "wait_timeout");
    finds(FINDING_REFUSED, 1, 1);
    pay("a", 50, 0, 0, "")->state = LEDGER_STATE_NONE;
    last()->result = LEDGER_INFO;
    is_clean();
}

TEST(expired_early)
{
    begin(5);
    hold("a", 1, 10, 20);
    ends("a", LEDGER_EXPIRED);
    look("a", SECOND / 2, SECOND / 2 + 10, LEDGER_EXPIRED);
    finds(FINDING_EXPIRED_EARLY, 1, 1);
    hand.ledger.ops[0].hold_s = 0; /* nobody knows how long it was */
    is_clean();
    hand.ledger.ops[0].hold_s = 1;
    pay("a", SECOND / 2 - 20, SECOND / 2 - 10, 409, "expired");
    finds(FINDING_EXPIRED_EARLY, 1, 1);
}

TEST(a_hold_without_an_end)
{
    begin(5);
    hold("a", 1, 10, 20);
    is_clean();
    hand.orders[0].overdue = true;
    finds(FINDING_HOLD_OPEN, 1, 1);
}

TEST(an_end_that_was_taken_back)
{
    begin(5);
    hold("a", 1, 10, 20);
    ends("a", LEDGER_EXPIRED);
    look("a", 2 * SECOND, 2 * SECOND + 10, LEDGER_EXPIRED);
    is_clean();
    look("a", 3 * SECOND, 3 * SECOND + 10, LEDGER_PENDING);
    finds(FINDING_BACKWARDS, 1, 0);
    look("a", 2 * SECOND + 5, 3 * SECOND, LEDGER_FAILED);
    last()->start_us = 4 * SECOND;
    last()->end_us = 5 * SECOND;
    run();
    assert_int_equal(hand.result.findings.counts[FINDING_BACKWARDS], 2);
}

/* Seen to be over, and by its row it is not. */
TEST(an_end_that_was_lost)
{
    begin(5);
    hold("a", 1, 10, 20);
    look("a", 2 * SECOND, 2 * SECOND + 10, LEDGER_EXPIRED);
    finds(FINDING_ABSENT, 1, 1);
}

/* Held units count, and what nobody paid does not. */
TEST(limits)
{
    begin(5);
    hand.ledger.products[0].limit = 1;
    hold("a", 1, 10, 20);
    hold("b", 1, 30, 40);
    finds(FINDING_LIMIT, 1, 1);
    ends("a", LEDGER_EXPIRED);
    is_clean();
}

TEST(limit_reached_by_what_has_expired)
{
    begin(5);
    hand.ledger.products[0].limit = 1;
    hold("a", 1, 10, 20);
    ends("a", LEDGER_EXPIRED);
    answer(buy(1, NULL, 3 * SECOND, 3 * SECOND + 10), 409, "limit_reached");
    is_clean(); /* when it went back nobody has seen */
    look("a", 2 * SECOND, 2 * SECOND + 10, LEDGER_EXPIRED);
    finds(FINDING_FALSE_LIMIT, 1, 0);
    last()->end_us = 3 * SECOND + 5;
    is_clean(); /* nor whether it was before */
    last()->end_us = 2 * SECOND + 10;
    hand.ledger.ops[0].status = 202;
    hand.ledger.ops[0].state = LEDGER_QUEUED;
    is_clean(); /* what was accepted first comes back elsewhere later */
}

TEST(limit_reached_below_the_limit)
{
    begin(5);
    hand.ledger.products[0].limit = 2;
    sell("a", 1, NULL, 10, 20);
    sell("b", 2, NULL, 10, 20);
    answer(buy(2, NULL, 30, 40), 409, "limit_reached");
    finds(FINDING_FALSE_LIMIT, 1, 0);
    last()->quantity = 2;
    is_clean();
    last()->quantity = 1;
    hand.ledger.products[0].limit = 0; /* there is none to reach */
    finds(FINDING_FALSE_LIMIT, 1, 0);
    hand.product.limit = 2; /* but the ledger does not know it */
    is_clean();
    hand.ledger.products[0].limit = 2;
    buy(2, NULL, 15, 0); /* never answered: it may have had one */
    is_clean();
}

/* The refusal was false when the end of the hold had been seen; before that it may be right. */
TEST(sold_out_by_what_has_expired)
{
    begin(1);
    hold("a", 1, 10, 20);
    ends("a", LEDGER_EXPIRED);
    refuse(2, NULL, 3 * SECOND, 3 * SECOND + 10);
    is_clean();
    look("a", 2 * SECOND, 2 * SECOND + 10, LEDGER_EXPIRED);
    finds(FINDING_UNDERSOLD, 1, 1);
    sell("b", 3, NULL, 4 * SECOND, 4 * SECOND + 10);
    finds(FINDING_FALSE_SOLD_OUT, 1, 0);
    assert_int_equal(hand.result.findings.counts[FINDING_NOT_LINEARIZABLE], 1);
}

/* What no bound shows: the refusal was right if the slow sale had taken the one unit that the hold
 * gave back; but then nothing was there for the quick one. Where nobody has seen the hold's end
 * before, the refusal came first. */
TEST(only_the_search_sees_it)
{
    begin(1);
    hold("a", 1, 10, 20);
    ends("a", LEDGER_EXPIRED);
    sell("b", 2, NULL, 2 * SECOND, 3 * SECOND);
    refuse(3, NULL, 2 * SECOND + 20, 2 * SECOND + 30);
    sell("c", 4, NULL, 2 * SECOND + 40, 2 * SECOND + 50);
    restock(2 * SECOND + 60, 2 * SECOND + 70, 1);
    refill_row(1);
    is_clean();
    assert_int_equal(hand.result.exact[EXACT_YES], 1);
    look("a", SECOND + 50, SECOND + 60, LEDGER_EXPIRED);
    finds(FINDING_NOT_LINEARIZABLE, 1, 0);
}

TEST_GROUP(NULL, hand_tear_down)
