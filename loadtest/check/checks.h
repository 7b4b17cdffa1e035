/*
 * The checks. Each looks at one question, adds what it finds to the view's findings, and takes at
 * most O(n log n). What a check cannot know it takes in favour of the service: a finding is never a
 * guess.
 */
#ifndef SECKILL_LOADTEST_CHECK_CHECKS_H
#define SECKILL_LOADTEST_CHECK_CHECKS_H

#include "loadtest/check/view.h"

/* A4 to A8 and A14: each claim's answers against its rows. */
void check_claims(const struct view *view);

/* A4 to A6 of cancels and restocks. */
void check_returns(const struct view *view);

/* H1 to H4: payments and the ends of holds. */
void check_payments(const struct view *view);

/* A1, A3, A9: units against rows, and units that were sold before they were there. */
void check_stock(const struct view *view);

/* A9, A11, A12: "sold out" while a unit was free, "limit reached" below the limit. Returns how many
 * answers of "sold out" there were. */
size_t check_refusals(const struct view *view);

/* A8, A13: answers and tokens that go back behind what was answered before. */
void check_order_in_time(const struct view *view);

/* A15 to A17: what differs, or is left, when all is quiet. */
void check_quiet(const struct view *view);

#endif
