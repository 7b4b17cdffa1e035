/*
 * The claims of a target, judged by what buyers were told and by the shop's books. For a broken one
 * the numbers, and the smallest example that shows it. A claim that the audit does not name, or
 * that this load did not put to the test, is "not checked", with the reason: it is never a pass.
 * Pure: any thread.
 */
#ifndef SECKILL_LOADTEST_SHOP_CLAIMS_H
#define SECKILL_LOADTEST_SHOP_CLAIMS_H

#include "loadtest/shop/claims/history.h"

enum claim_result { CLAIM_NOT_ASKED, CLAIM_KEPT, CLAIM_NOT_CHECKED, CLAIM_BROKEN };

struct claim_finding {
    enum claim_result result;
    char text[400];
};

enum shop_verdict { SHOP_VERDICT_KEPT, SHOP_VERDICT_BROKEN, SHOP_VERDICT_INVALID };

struct shop_judgement {
    struct claim_finding claims[SHOP_CLAIMS];
    enum shop_verdict verdict;
    char why[400]; /* of an INVALID one; else how many claims were checked */
};

/* False: out of memory. */
bool claims_judge(const struct target *target, const struct shop_history *history,
                  const struct shop_books *books, struct shop_judgement *out, struct error *error);

/* "kept", "not checked", "BROKEN", "" of one that was not asked; "kept", "BROKEN", "INVALID". */
const char *claim_result_name(enum claim_result result);
const char *shop_verdict_name(enum shop_verdict verdict);

/* 0, 1, 2. */
int shop_verdict_exit_status(enum shop_verdict verdict);

#endif
