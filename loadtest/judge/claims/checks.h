/*
 * The checks. Each looks at one question, adds what it finds to the view's findings, and takes at
 * most O(n log n). What a check cannot know it takes in favour of the service: a finding is never a
 * guess.
 */
#ifndef SECKILL_LOADTEST_JUDGE_CLAIMS_CHECKS_H
#define SECKILL_LOADTEST_JUDGE_CLAIMS_CHECKS_H

#include "loadtest/judge/evidence/view.h"

/* A4 to A8 and A14: answers against rows; of a shop by its buyers, and A11 too. */
void check_answers(struct view *view);
/* Its part for a shop, where there are people. */
void check_buyers(const struct view *view);

/* H1 to H4: payments and the ends of holds. */
void check_payments(struct view *view);

/* A1, A3, A9, and A4, A5 of restocks: units against rows, and units that were sold before they were
 * there. */
void check_stock(struct view *view);

/* A9, A11, A12: "sold out" while a unit was free, "limit reached" below the limit. Counts the
 * answers of "sold out". */
void check_refusals(struct view *view);

/* A8, A13: answers and tokens that go back behind what was answered before. */
void check_order_in_time(struct view *view);

/* A15 to A18: what differs, is left or stands in the wrong cell when all is quiet. */
void check_quiet(struct view *view);

#endif
