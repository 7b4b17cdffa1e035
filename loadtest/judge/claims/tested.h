/*
 * Whether a shop's load has put a claim to the test of which no violation was found: kept, with the
 * numbers, or not checked, with the reason. It is never a pass that nothing was tried.
 */
#ifndef SECKILL_LOADTEST_JUDGE_CLAIMS_TESTED_H
#define SECKILL_LOADTEST_JUDGE_CLAIMS_TESTED_H

#include "loadtest/judge/evidence/view.h"

enum claim_result { CLAIM_NOT_ASKED, CLAIM_KEPT, CLAIM_NOT_CHECKED, CLAIM_BROKEN };

/* A claim's result and its words: the numbers, and for a broken one an example. */
struct claim_finding {
    enum claim_result result;
    char text[FINDING_TEXT_SIZE];
};

void tested_conserved(const struct view *view, struct claim_finding *out);
void tested_never_oversold(const struct view *view, struct claim_finding *out);
void tested_sold_has_its_row(const struct view *view, struct claim_finding *out);
void tested_nothing_behind_a_no(const struct view *view, struct claim_finding *out);
void tested_one_a_key(const struct view *view, struct claim_finding *out);
void tested_one_a_user(const struct view *view, struct claim_finding *out);
void tested_nothing_left(const struct view *view, struct claim_finding *out);
void tested_no_false_sold_out(const struct view *view, struct claim_finding *out);
void tested_linearizable(const struct view *view, struct claim_finding *out);

#endif
