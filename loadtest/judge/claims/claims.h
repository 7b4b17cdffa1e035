/*
 * The table of what is judged (claims.def), and the finding of what is wrong: of our own servers'
 * ledgers and of anybody's shop by the same functions, as far as the evidence goes.
 *
 * And the claims of somebody's shop, judged by a ledger of what its buyers were told and what its
 * books said. For a broken one the numbers, and an example that shows it. A claim that the audit
 * does not name, or that this load did not put to the test, is "not checked", with the reason: it
 * is never a pass. Pure: any thread.
 */
#ifndef SECKILL_LOADTEST_JUDGE_CLAIMS_CLAIMS_H
#define SECKILL_LOADTEST_JUDGE_CLAIMS_CLAIMS_H

#include "loadtest/judge/evidence/view.h"

/* "" of what no shop claims. */
const char *claim_name(enum finding_kind kind);

/* Adds what is wrong to the view's findings. */
void claims_find(struct view *view);

enum claim_result { CLAIM_NOT_ASKED, CLAIM_KEPT, CLAIM_NOT_CHECKED, CLAIM_BROKEN };

/* A claim's result and its words: the numbers, and for a broken one an example. */
struct claim_finding {
    enum claim_result result;
    char text[FINDING_TEXT_SIZE];
};

enum shop_verdict { SHOP_VERDICT_KEPT, SHOP_VERDICT_BROKEN, SHOP_VERDICT_INVALID };

struct shop_judgement {
    struct claim_finding claims[FINDING_KIND_COUNT];
    enum shop_verdict verdict;
    char why[400]; /* of an INVALID one; else how many claims were checked */
};

/* The claims that it is to be judged by. */
struct shop_terms {
    const bool *claims; /* FINDING_KIND_COUNT of them; of what no shop claims it means nothing */
    const char *order_pointer; /* where answers that lead to `sold` have the order; NULL: nowhere */
};

/* Purchases and books get their product, and purchases the quantity that the largest order has, for
 * they name neither. False: out of memory. */
bool claims_judge(const struct shop_terms *terms, struct ledger *ledger, struct shop_judgement *out,
                  struct error *error);

/* "kept", "not checked", "BROKEN", "" of one that was not asked; "kept", "BROKEN", "INVALID". */
const char *claim_result_name(enum claim_result result);
const char *shop_verdict_name(enum shop_verdict verdict);

/* 0, 1, 2. */
int shop_verdict_exit_status(enum shop_verdict verdict);

#endif
