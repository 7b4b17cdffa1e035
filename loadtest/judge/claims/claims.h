/*
 * The table of what is judged (claims.def), and the finding of what is wrong: of our own servers'
 * ledgers and of anybody's shop by the same functions, as far as the evidence goes.
 */
#ifndef SECKILL_LOADTEST_JUDGE_CLAIMS_CLAIMS_H
#define SECKILL_LOADTEST_JUDGE_CLAIMS_CLAIMS_H

#include "loadtest/judge/evidence/view.h"

/* Of NEED_OURS a shop has nothing: states, keys and times of rows, locks, the feed. */
enum claim_need {
    NEED_NOTHING = 0,
    NEED_LIMIT = 1,
    NEED_LEFT = 2,
    NEED_ORDERS = 4,
    NEED_USERS = 8,
    NEED_REPEATS = 16,
    NEED_OURS = 32
};

/* "" of what no shop claims. */
const char *claim_name(enum finding_kind kind);

/* Adds what is wrong to the view's findings. */
void claims_find(struct view *view);

/* Fills in the result of a shop's claim, once claims_find has been there. */
void claims_say(enum finding_kind kind, const struct view *view, struct claim_finding *out);

#endif
