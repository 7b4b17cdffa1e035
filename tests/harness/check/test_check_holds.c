/* The same of orders that wait to be paid: what is wrong with a payment or with the end of a hold
 * is flagged by the invariant that it breaks and by no other. Holds are of a second. */
#include "lib/t.h"

#include "harness/check/hand.h"

/* Paid, too late (its units are on their way when it is looked at), never paid, cancelled while it
 * was held, and still held; and the second one's user buys again. */
#define HOLDS                                                                                      \
    "begin 5; limit 1; hold a 1 10 20; pay a 30 40 200; pay a 50 60 200; "                         \
    "order 0 state confirmed; hold b 2 10 20; pay b 1s+20 1s+30 409 expired; "                     \
    "look b 1s+40 1s+50 pending; ends b expired; look b 1s+60 1s+70 expired; hold c 3 10 20; "     \
    "cancel c 30 40 200; ends c cancelled; pay c 50 60 409 not_payable; hold d 4 10 20; "          \
    "cancel d 1s+90 1s+95 409; ends d expired; hold e 5 10 20; hold f 2 1s+80 1s+85; "

static struct scene scenes[] = {
    {"test_a_clean_one_passes",
     HOLDS "clean; is confirmed 6; is pending 2; is expired 2; is paid 2; "
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
    {"test_only_the_search_sees_it",
     "begin 1; hold a 1 10 20; ends a expired; sell b 2 - 2s 3s; refuse 3 - 2s+20 2s+30; "
     "sell c 4 - 2s+40 2s+50; restock 2s+60 2s+70 1; refill 1; clean; is exact 1; "
     "look a 1s+50 1s+60 expired; finds NOT_LINEARIZABLE 1 0"},
};

SCENES(scenes)
TEST_GROUP(NULL, hand_tear_down)
