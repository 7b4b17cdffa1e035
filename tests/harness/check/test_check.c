/* The checker on hand-made ledgers: a clean one passes, and what is wrong with units, with what
 * somebody was told, or with a payment or a hold is flagged by the invariant that it breaks and by
 * no other. */
#include "lib/t.h"

#include "harness/check/hand.h"
#include "loadtest/base/pool.h"

#include <stdlib.h>
#include <string.h>

static const struct exact_limits limits = {.ops = 200, .budget = 200000};

/* Paid, too late (its units are on their way when it is looked at), never paid, cancelled while it
 * was held, and still held; and the second one's user buys again. */
#define HOLDS                                                                                      \
    "begin 5; limit 1; hold a 1 10 20; pay a 30 40 200; pay a 50 60 200; "                         \
    "order 0 state confirmed; hold b 2 10 20; pay b 1s+20 1s+30 409 expired; "                     \
    "look b 1s+40 1s+50 pending; ends b expired; look b 1s+60 1s+70 expired; hold c 3 10 20; "     \
    "cancel c 30 40 200; ends c cancelled; pay c 50 60 409 not_payable; hold d 4 10 20; "          \
    "cancel d 1s+90 1s+95 409; ends d expired; hold e 5 10 20; hold f 2 1s+80 1s+85; "

static struct scene scenes[] = {
    {"test_a_clean_one_passes", /* it has a 202 */
     CLEAN_SALE "clean; is confirmed 3; is info 2; is not_tried 1"},
    {"test_nothing_sold_is_no_pass",
     "begin 0; refuse 1 k 10 20; run; is proved_nothing 1; is sold_out 1"},
    /* By its rows nothing is missing in the end: the restock came later; or it may have been there
     * in time. */
    {"test_oversold_for_a_while", "begin 1; sell a 1 - 10 20; sell b 2 - 30 40; restock 50 60 1; "
                                  "refill 1; finds OVERSOLD 1 1; last from 35; clean"},
    {"test_limit", "begin 5; limit 1; sell a 1 k1 10 20; sell b 1 k2 10 20; sell c 2 k3 10 20; "
                   "finds LIMIT 1 1; is shown 2; ends b cancelled; cancel b 30 40 200; clean"},
    {"test_undersold", "begin 2; sell a 1 k1 10 20; refuse 2 k2 30 40; refuse 3 k3 30 40; "
                       "finds UNDERSOLD 1 1; is shown 2; counts NOT_LINEARIZABLE 1"},
    /* It may have been taken already when the refusal was made. */
    {"test_false_sold_out", "begin 2; sell a 1 k1 10 20; refuse 2 k2 30 40; sell b 3 k3 50 60; "
                            "finds FALSE_SOLD_OUT 1 0; is sold_out 1; last from 35; clean"},
    /* Somebody who was not sold anything may have had it meanwhile; of a buy that did nothing
     * nobody should know; and one may go on behind its answer. */
    {"test_a_unit_in_somebody_s_hands",
     "begin 2; sell a 1 k1 10 20; buy 4 k4 25 45; answer 202; names c queued; refuse 2 k2 30 40; "
     "sell b 3 k3 50 60; row c 4 k4 failed; clean; "
     "begin 2; sell a 1 k1 10 20; buy 4 k4 25 45; answer 503 lease_lost; refuse 2 k2 30 40; "
     "sell b 3 k3 50 60; finds NOT_LINEARIZABLE 1 0; "
     "begin 2; sell a 1 k1 10 20; buy 4 k4 21 25; answer 504 outcome_unknown; "
     "refuse 2 k2 30 40; sell b 3 k3 50 60; finds NOT_LINEARIZABLE 1 0"},
    {"test_a_feed_that_differs", CLEAN_SALE "order 0 told pending; finds FEED 1 0"},
    /* What no bound shows. The refusal was right, if the slow sale had taken the one unit before;
     * but then nothing was there for the quick one, which had ended before the restock was sent,
     * and that adds nothing to it. */
    {"test_only_the_search_sees_it",
     "begin 1; sell a 1 - 10 100; refuse 2 - 20 30; sell b 3 - 40 50; restock 60 70 1; refill 1; "
     "finds NOT_LINEARIZABLE 1 0; is shown 3; last from 45; clean; is exact 1"},

    /* --- what somebody was told: each lie --- */

    {"test_absent", "begin 5; sell a 1 k1 10 20; buy 2 k2 30 40; answer 201; names x confirmed; "
                    "finds ABSENT 1 1; answer 202; last state queued; finds ABSENT 1 1"},
    {"test_sold_and_then_failed",
     "begin 5; sell a 1 k1 10 20; sell b 2 k2 10 20; ends b failed; finds ABSENT 1 1"},
    /* A 202 may end as a refusal, and may not be lost. */
    {"test_accepted_and_then_lost",
     "begin 5; sell a 1 k1 10 20; sell b 2 k2 10 20; answer 202; names b queued; ends b failed; "
     "clean; order 1 lost; finds ABSENT 1 1"},
    /* What a buyer was shown last is held against the row, whatever the buy was told; he may have
     * looked before the cancel. */
    {"test_another_end_than_was_told",
     "begin 5; sell a 1 k1 10 20; sell b 2 k2 10 20; answer 202; names b queued; "
     "look b 30 40 confirmed; clean; last state cancelled; finds ABSENT 1 1; last state failed; "
     "finds ABSENT 1 1; last state confirmed; left 1; order 1 state failed; finds ABSENT 1 1; "
     "order 1 state cancelled; cancel b 50 60 200; look b 30 70 confirmed; clean"},
    {"test_seen_as_sold_and_not_there",
     "begin 5; sell a 1 k1 10 20; buy 2 - 10 0; look x 30 40 confirmed; finds ABSENT 1 0"},
    {"test_another_order_than_asked", "begin 5; sell a 1 k1 10 20; sell b 2 k2 10 20; "
                                      "look b 30 40 cancelled; last named a; finds OTHERWISE 1 0"},
    {"test_a_cancel_that_was_lost",
     "begin 5; sell a 1 k1 10 20; cancel a 30 40 200; finds ABSENT 1 1; "
     "answer 504 outcome_unknown; last state none; clean"},
    {"test_a_restock_that_was_lost",
     "begin 5; sell a 1 k1 10 20; restock 30 40 3; finds ABSENT 1 3"},
    /* Accepted, then refused: its key is free again. One that was sold keeps its key. */
    {"test_a_key_that_was_given_up",
     "begin 5; sell a 1 k1 10 20; row b 2 - failed; buy 2 k2 30 40; answer 202; names b queued; "
     "clean; order 1 units 2; finds OTHERWISE 1 0"},
    /* Also where nobody was told: the key has other goods all the same. */
    {"test_otherwise", "begin 5; sell a 1 k1 10 20; order 0 units 2; left -1; finds OTHERWISE 1 0; "
                       "answer 504 outcome_unknown; names - none; sell b 9 - 10 20; "
                       "finds OTHERWISE 1 0"},
    /* Without a key it is their number that shows it. */
    {"test_invented",
     "begin 5; sell a 1 k1 10 20; sold b 2 k2; finds INVENTED 1 1; "
     "begin 5; sell a 1 - 10 20; sold b 1 -; finds INVENTED 1 1; buy 1 - 30 0; clean"},
    {"test_a_cancel_that_nobody_sent",
     "begin 5; sell a 1 k1 10 20; ends a cancelled; finds INVENTED 1 1; cancel a 30 40 409; "
     "finds REFUSED 1 1"},
    {"test_a_restock_that_nobody_sent", "begin 5; sell a 1 k1 10 20; refill 2; finds INVENTED 1 2"},
    {"test_refused",
     "begin 2; sell a 1 k1 10 20; sold b 2 k2; buy 2 k2 30 40; answer 503 wait_timeout; "
     "finds REFUSED 1 1; keyless; finds REFUSED 1 1"},
    {"test_duplicate", "begin 5; sell a 1 k1 10 20; sold b 1 k1; finds DUPLICATE 1 1"},
    {"test_one_order_for_two", "begin 5; sell a 1 - 10 20; buy 1 - 30 40; answer 201; "
                               "names a confirmed; finds DUPLICATE 1 1"},
    /* At the same time it may have come first; a no to the moment is no final one; and other goods
     * are rightly refused. */
    {"test_disagree", "begin 1; sell a 1 k1 10 20; refuse 1 k1 30 40; finds DISAGREE 1 0; "
                      "last from 15; clean; answer 503 queue_full; last from 30; clean; "
                      "answer 409 idempotency_mismatch; last from 30; last units 2; clean"},
    /* b is nowhere either. */
    {"test_two_orders_by_the_answers",
     "begin 5; sell a 1 k1 10 20; buy 1 k1 30 40; answer 200; "
     "names b confirmed; run; counts DISAGREE 1; counts ABSENT 1"},
    /* In the end it is not surely later, but the row says otherwise. */
    {"test_backwards",
     "begin 5; sell a 1 k1 10 20; look a 30 40 queued; finds BACKWARDS 1 0; "
     "answer 404 not_found; last state none; finds BACKWARDS 1 0; answer 200; last state failed; "
     "run; counts BACKWARDS 1; counts ABSENT 1; last from 20; finds ABSENT 1 1"},
    {"test_fencing", "begin 5; sell a 1 k1 10 20; last fence 8; sell b 2 k2 30 40; last fence 7; "
                     "finds FENCING 1 0; last from 15; clean"},
    {"test_unfinished",
     "begin 5; sell a 1 k1 10 20; row b 2 k2 queued; buy 2 k2 30 40; answer 202; "
     "names b queued; finds UNFINISHED 1 1"},

    /* --- orders that wait to be paid: a payment, or the end of a hold, of a second --- */

    {"test_clean_holds_pass", HOLDS "clean; is confirmed 6; is pending 2; is expired 2; is paid 2; "
                                    "is too_late 1; is exact 1"},
    /* Held units are not there to be sold. By the rows nothing is missing in the end. */
    {"test_held_units_are_sold_as_well",
     "begin 1; hold a 1 10 20; sell b 2 - 30 40; finds OVERSOLD 1 1; counts NOT_LINEARIZABLE 1; "
     "ends a expired; finds OVERSOLD 1 1; last from 1s+30; last until 1s+40; clean"},
    {"test_a_unit_that_comes_back_twice", HOLDS "left 1; finds CONSERVATION 1 1"},
    {"test_a_unit_that_does_not_come_back", HOLDS "left -1; finds CONSERVATION 1 1"},
    /* It still waits to be paid; then it is over; and one that nobody has seen, which is paid once
     * more by whom it was not answered at once. */
    {"test_paid_and_lost",
     "begin 5; hold a 1 10 20; pay a 30 40 200; finds PAID_LOST 1 1; ends a expired; "
     "finds PAID_LOST 1 1; answer 504 outcome_unknown; last state none; clean; "
     "pay x 50 60 200; finds PAID_LOST 1 0; pay x 70 80 200; finds PAID_LOST 1 0"},
    /* Seen while it was held, as on a machine on which the payment comes late. */
    {"test_seen_and_paid_and_lost",
     "begin 5; look x 10 20 pending; finds ABSENT 1 0; pay x 30 40 200; "
     "finds PAID_LOST 1 0"},
    /* Too late at the same time as it was paid. */
    {"test_paid_and_expired",
     "begin 5; hold a 1 10 20; order 0 state confirmed; pay a 1s-5 1s+30 200; clean; "
     "pay a 1s-5 1s+30 409 expired; finds PAID_EXPIRED 1 1; is shown 2; "
     "answer 503 wait_timeout; clean; look a 2s 2s+10 expired; finds PAID_EXPIRED 1 1"},
    /* Whatever became of the first payment, it came first. */
    {"test_too_late_and_sold",
     "begin 5; hold a 1 10 20; pay a 2s 2s+10 0; unknown; pay a 2s+20 2s+30 409 expired; "
     "order 0 state confirmed; finds PAID_EXPIRED 1 1; ends a expired; clean"},
    {"test_sold_without_a_payment",
     "begin 5; hold a 1 10 20; order 0 state confirmed; finds INVENTED 1 1; "
     "pay a 30 40 503 wait_timeout; finds REFUSED 1 1; pay a 50 0 0; unknown; clean"},
    /* How long it was nobody knows where no hold_s is known. */
    {"test_expired_early", "begin 5; hold a 1 10 20; ends a expired; look a 0.5s 0.5s+10 expired; "
                           "finds EXPIRED_EARLY 1 1; first hold_s 0; clean; first hold_s 1; "
                           "pay a 0.5s-20 0.5s-10 409 expired; finds EXPIRED_EARLY 1 1"},
    {"test_a_hold_without_an_end",
     "begin 5; hold a 1 10 20; clean; order 0 overdue; finds HOLD_OPEN 1 1"},
    {"test_an_end_that_was_taken_back",
     "begin 5; hold a 1 10 20; ends a expired; look a 2s 2s+10 expired; clean; "
     "look a 3s 3s+10 pending; finds BACKWARDS 1 0; look a 4s 5s failed; run; "
     "counts BACKWARDS 2"},
    /* Seen to be over, and by its row it is not. */
    {"test_an_end_that_was_lost",
     "begin 5; hold a 1 10 20; look a 2s 2s+10 expired; finds ABSENT 1 1"},
    /* Held units count, and what nobody paid does not. */
    {"test_limits", "begin 5; limit 1; hold a 1 10 20; hold b 1 30 40; finds LIMIT 1 1; "
                    "ends a expired; clean"},
    /* When it went back nobody has seen, then nobody knows whether it was before; and what was
     * accepted first comes back elsewhere later. */
    {"test_limit_reached_by_what_has_expired",
     "begin 5; limit 1; hold a 1 10 20; ends a expired; buy 1 - 3s 3s+10; "
     "answer 409 limit_reached; clean; look a 2s 2s+10 expired; finds FALSE_LIMIT 1 0; "
     "last until 3s+5; clean; last until 2s+10; first status 202; first state queued; clean"},
    /* Without a limit there is none to reach, but for one that the ledger does not know; and a buy
     * that was never answered may have had one. */
    {"test_limit_reached_below_the_limit",
     "begin 5; limit 2; sell a 1 - 10 20; sell b 2 - 10 20; buy 2 - 30 40; "
     "answer 409 limit_reached; finds FALSE_LIMIT 1 0; last units 2; clean; last units 1; "
     "limit 0; finds FALSE_LIMIT 1 0; row_limit 2; clean; limit 2; buy 2 - 15 0; clean"},
    /* The refusal was false when the end of the hold had been seen; before that it may be right. */
    {"test_sold_out_by_what_has_expired",
     "begin 1; hold a 1 10 20; ends a expired; refuse 2 - 3s 3s+10; clean; "
     "look a 2s 2s+10 expired; finds UNDERSOLD 1 1; sell b 3 - 4s 4s+10; "
     "finds FALSE_SOLD_OUT 1 0; counts NOT_LINEARIZABLE 1"},
    /* What no bound shows: the refusal was right if the slow sale had taken the one unit that the
     * hold gave back; but then nothing was there for the quick one. Where nobody has seen the
     * hold's end before, the refusal came first. */
    {"test_only_the_search_sees_that_an_end_came_late",
     "begin 1; hold a 1 10 20; ends a expired; sell b 2 - 2s 3s; refuse 3 - 2s+20 2s+30; "
     "sell c 4 - 2s+40 2s+50; restock 2s+60 2s+70 1; refill 1; clean; is exact 1; "
     "look a 1s+50 1s+60 expired; finds NOT_LINEARIZABLE 1 0"},
};

SCENES(scenes)

TEST(another_sale_is_not_judged)
{
    happens(CLEAN_SALE);
    hand.rows.products->epoch = 10;
    assert_false(check_run(&hand.result, &hand.ledger, &hand.rows, &limits, &hand.error));
    t_says(hand.error.text, "again");
    hand.rows.products->epoch = 9;
    hand.rows.products->initial = 3;
    assert_false(check_run(&hand.result, &hand.ledger, &hand.rows, &limits, &hand.error));
    hand.rows.products_count = 0;
    assert_false(check_run(&hand.result, &hand.ledger, &hand.rows, &limits, &hand.error));
}

static void says(enum finding_kind kind, const char *wanted)
{
    char said[200];
    findings_say(&hand.result.findings, kind, said, sizeof said);
    assert_string_equal(said, wanted);
}

TEST(conservation)
{
    happens(CLEAN_SALE "left 3; finds CONSERVATION 1 3");
    says(FINDING_CONSERVATION, "3 units: sold that the stock never lost");
    happens("left -4; finds CONSERVATION 1 1");
    says(FINDING_CONSERVATION, "1 unit: gone that nobody bought");
}

/* 20 buyers, one unit. The stock's row was written by each, as a lost update leaves it. */
TEST(oversold)
{
    begin(1);
    for (int i = 0; i < 20; i++) {
        char id[] = {(char)('a' + i), '\0'};
        sell(id, i + 1, NULL, 10, 20 + i);
    }
    /* The two that show it: the second is one too many. */
    happens("finds OVERSOLD 1 19; is shown 2; counts NOT_LINEARIZABLE 1");
    assert_int_equal(hand.result.findings.items[0].ops[0]->end_us, 21);
}

/* Rows of two cells: what an id names is where its order stands, and a product is sold in one. */
TEST(wrong_cell)
{
    happens("begin 2; sell 01900000-0000-7000-8000-010000000000 1 k1 10 20; "
            "sell 01900000-0000-7000-8000-020000000000 2 k2 10 20; clean");
    hand.rows.orders[0].cell = 1;
    hand.rows.orders[1].cell = 2;
    is_clean();
    hand.rows.orders[1].cell = 1;
    finds(FINDING_CELL, 1, 0);
    hand.rows.orders[1].cell = 2;

    struct row_product *stray =
        array_add(&hand.rows.strays, &hand.rows.strays_count, sizeof *stray);
    *stray = (struct row_product){.id = HAND_PRODUCT, .epoch = 3, .cell = 2};
    is_clean(); /* it has moved away */
    stray->initial = 5;
    finds(FINDING_CELL, 1, 0);
}

TEST(residue)
{
    happens(CLEAN_SALE);
    hand.rows.idle_transactions = 2;
    finds(FINDING_RESIDUE, 1, 0);
    hand.rows.prepared = 1;
    hand.rows.waiting = 1;
    hand.rows.leaseless = 1;
    finds(FINDING_RESIDUE, 4, 0);
}

TEST(a_cache_that_differs)
{
    happens(CLEAN_SALE);
    struct row_mirror *mirror =
        array_add(&hand.rows.mirrors, &hand.rows.mirrors_count, sizeof *mirror);
    *mirror = (struct row_mirror){.product = HAND_PRODUCT, .stock = hand.rows.products->stock};
    is_clean();
    mirror->stock -= 2;
    finds(FINDING_CACHE, 1, 2);
    mirror->reserved = 2; /* as a reservation that nobody decides */
    finds(FINDING_RESIDUE, 1, 2);
}

TEST(a_search_that_gives_up_is_no_pass)
{
    const struct exact_limits little = {.ops = 200, .budget = 1};
    happens("begin 5; sell a 1 - 10 20; sell b 2 - 10 20; clean");
    findings_fini(&hand.result.findings);
    assert_true(check_run(&hand.result, &hand.ledger, &hand.rows, &little, &hand.error));
    assert_int_equal(hand.result.verdict, CHECK_PROVED_NOTHING);
    assert_int_equal(hand.result.exact[EXACT_UNKNOWN], 1);
}

TEST(the_smallest_case_comes_first)
{
    happens("begin 9; limit 1; sell a 1 - 10 20; sell b 1 - 10 20; sell c 1 - 10 20; "
            "sell d 2 - 10 20; sell e 2 - 10 20; finds LIMIT 2 3; is shown 2");
    assert_int_equal(hand.result.findings.items[1].ops_count, 3);
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    check_print(to, &hand.result, &hand.ledger, 1);
    fclose(to);
    t_says(text, "A9");
    t_says(text, "user 2 has 2 units");
    assert_null(strstr(text, "user 1 has 3 units"));
    t_says(text, "and 1 more");
    t_says(text, "VIOLATED");
    free(text);
}

TEST_GROUP(NULL, hand_tear_down)
