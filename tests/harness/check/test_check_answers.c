/* The same of what somebody was told: each lie is flagged by the invariant that it breaks and by no
 * other. */
#include "lib/t.h"

#include "harness/check/hand.h"

static struct scene scenes[] = {
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
};

SCENES(scenes)
TEST_GROUP(NULL, hand_tear_down)
