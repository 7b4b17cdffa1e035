/* The same of what somebody was told: each lie is flagged by the invariant that it breaks and by no
 * other. */
#include "lib/t.h"

#include "harness/check/hand.h"

#include <stdlib.h>
#include <string.h>

TEST(absent)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    names(answer(buy(2, "k2", 30, 40), 201, ""), "x", LEDGER_CONFIRMED);
    finds(FINDING_ABSENT, 1, 1);
    answer(last(), 202, "");
    last()->state = LEDGER_QUEUED;
    finds(FINDING_ABSENT, 1, 1);
}

TEST(sold_and_then_failed)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    sell("b", 2, "k2", 10, 20);
    ends("b", LEDGER_FAILED);
    finds(FINDING_ABSENT, 1, 1);
}

/* A 202 may end as a refusal, and may not be lost. */
TEST(accepted_and_then_lost)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    sell("b", 2, "k2", 10, 20);
    names(answer(last(), 202, ""), "b", LEDGER_QUEUED);
    ends("b", LEDGER_FAILED);
    is_clean();
    hand.orders[1].lost = true;
    finds(FINDING_ABSENT, 1, 1);
}

/* What a buyer was shown last is held against the row, whatever the buy was told. */
TEST(another_end_than_was_told)
{
    static const enum ledger_state others[] = {LEDGER_CANCELLED, LEDGER_FAILED};
    begin(5);
    sell("a", 1, "k1", 10, 20);
    sell("b", 2, "k2", 10, 20);
    names(answer(last(), 202, ""), "b", LEDGER_QUEUED);
    look("b", 30, 40, LEDGER_CONFIRMED);
    is_clean();
    for (size_t i = 0; i < 2; i++) {
        last()->state = others[i];
        finds(FINDING_ABSENT, 1, 1);
    }
    last()->state = LEDGER_CONFIRMED;
    hand.product.stock++;
    hand.orders[1].state = LEDGER_FAILED;
    finds(FINDING_ABSENT, 1, 1);
    hand.orders[1].state = LEDGER_CANCELLED;
    cancel("b", 50, 60, 200);
    look("b", 30, 70, LEDGER_CONFIRMED); /* it may have looked before the cancel */
    is_clean();
}

TEST(seen_as_sold_and_not_there)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    buy(2, NULL, 10, 0);
    look("x", 30, 40, LEDGER_CONFIRMED);
    finds(FINDING_ABSENT, 1, 0);
}

TEST(another_order_than_asked)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    sell("b", 2, "k2", 10, 20);
    look("b", 30, 40, LEDGER_CANCELLED)->named = strdup("a");
    finds(FINDING_OTHERWISE, 1, 0);
}

TEST(a_cancel_that_was_lost)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    cancel("a", 30, 40, 200);
    finds(FINDING_ABSENT, 1, 1);
    answer(last(), 504, "outcome_unknown");
    last()->state = LEDGER_STATE_NONE;
    is_clean();
}

TEST(a_restock_that_was_lost)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    restock(30, 40, 3);
    finds(FINDING_ABSENT, 1, 3);
}

/* Accepted, then refused: its key is free again. One that was sold keeps its key. */
TEST(a_key_that_was_given_up)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    row("b", 2, NULL)->state = LEDGER_FAILED;
    names(answer(buy(2, "k2", 30, 40), 202, ""), "b", LEDGER_QUEUED);
    is_clean();
    hand.orders[1].quantity = 2;
    finds(FINDING_OTHERWISE, 1, 0);
}

TEST(otherwise)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    hand.orders[0].quantity = 2;
    hand.product.stock--;
    finds(FINDING_OTHERWISE, 1, 0);
    /* Nobody was told; the key has other goods all the same. */
    names(answer(last(), 504, "outcome_unknown"), "", LEDGER_STATE_NONE);
    sell("b", 9, NULL, 10, 20);
    finds(FINDING_OTHERWISE, 1, 0);
}

TEST(invented)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    sold_row("b", 2, "k2");
    finds(FINDING_INVENTED, 1, 1);
    /* Without a key it is their number that shows it. */
    begin(5);
    sell("a", 1, NULL, 10, 20);
    sold_row("b", 1, NULL);
    finds(FINDING_INVENTED, 1, 1);
    buy(1, NULL, 30, 0);
    is_clean();
}

TEST(a_cancel_that_nobody_sent)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    ends("a", LEDGER_CANCELLED);
    finds(FINDING_INVENTED, 1, 1);
    cancel("a", 30, 40, 409);
    finds(FINDING_REFUSED, 1, 1);
}

TEST(a_restock_that_nobody_sent)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    refill_row(2);
    finds(FINDING_INVENTED, 1, 2);
}

TEST(refused)
{
    begin(2);
    sell("a", 1, "k1", 10, 20);
    sold_row("b", 2, "k2");
    answer(buy(2, "k2", 30, 40), 503, "wait_timeout");
    finds(FINDING_REFUSED, 1, 1);
    free(last()->key);
    free(hand.orders[1].key);
    last()->key = hand.orders[1].key = NULL;
    finds(FINDING_REFUSED, 1, 1);
}

TEST(duplicate)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    sold_row("b", 1, "k1");
    finds(FINDING_DUPLICATE, 1, 1);
}

TEST(one_order_for_two)
{
    begin(5);
    sell("a", 1, NULL, 10, 20);
    names(answer(buy(1, NULL, 30, 40), 201, ""), "a", LEDGER_CONFIRMED);
    finds(FINDING_DUPLICATE, 1, 1);
}

TEST(disagree)
{
    begin(1);
    sell("a", 1, "k1", 10, 20);
    refuse(1, "k1", 30, 40);
    finds(FINDING_DISAGREE, 1, 0);
    /* At the same time it may have come first; a no to the moment is no final one; and other goods
     * are rightly refused. */
    last()->start_us = 15;
    is_clean();
    answer(last(), 503, "queue_full")->start_us = 30;
    is_clean();
    answer(last(), 409, "idempotency_mismatch");
    last()->start_us = 30;
    last()->quantity = 2;
    is_clean();
}

TEST(two_orders_by_the_answers)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    names(answer(buy(1, "k1", 30, 40), 200, ""), "b", LEDGER_CONFIRMED);
    run();
    assert_int_equal(hand.result.findings.counts[FINDING_DISAGREE], 1);
    assert_int_equal(hand.result.findings.counts[FINDING_ABSENT], 1); /* b is nowhere either */
}

TEST(backwards)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    look("a", 30, 40, LEDGER_QUEUED);
    finds(FINDING_BACKWARDS, 1, 0);
    answer(last(), 404, "not_found");
    last()->state = LEDGER_STATE_NONE;
    finds(FINDING_BACKWARDS, 1, 0);
    answer(last(), 200, "");
    last()->state = LEDGER_FAILED;
    run();
    assert_int_equal(hand.result.findings.counts[FINDING_BACKWARDS], 1);
    assert_int_equal(hand.result.findings.counts[FINDING_ABSENT], 1);
    last()->start_us = 20; /* not surely later, but the row says otherwise */
    finds(FINDING_ABSENT, 1, 1);
}

TEST(fencing)
{
    begin(5);
    sell("a", 1, "k1", 10, 20)->fence = 8;
    sell("b", 2, "k2", 30, 40)->fence = 7;
    finds(FINDING_FENCING, 1, 0);
    last()->start_us = 15;
    is_clean();
}

TEST(unfinished)
{
    begin(5);
    sell("a", 1, "k1", 10, 20);
    row("b", 2, "k2")->state = LEDGER_QUEUED;
    names(answer(buy(2, "k2", 30, 40), 202, ""), "b", LEDGER_QUEUED);
    finds(FINDING_UNFINISHED, 1, 1);
}

TEST_GROUP(NULL, hand_tear_down)
