/*
 * One sale of a shop from reset to judgement: put back to its start, the load, until nothing is
 * under way, the books, the claims. All of it stands in FOLDER/ledger.jsonl; what commands of the
 * target say on stderr in FOLDER/shop.log.
 */
#ifndef SECKILL_LOADTEST_SHOP_SALE_SALE_H
#define SECKILL_LOADTEST_SHOP_SALE_SALE_H

#include "loadtest/judge/claims/claims.h"
#include "loadtest/judge/threshold.h"
#include "loadtest/shop/load/send.h"

/* What a reader wants to know of one kind of answer; response times are from when it was due. */
struct sale_answers {
    int64_t count, became; /* purchases answered so; that ended so, after polling */
    struct latency times;  /* none of a load that was late itself */
};

/* What follows from the ledger is sale_judge's. */
struct sale {
    struct ledger ledger;
    struct shop_judgement judgement;
    struct sale_answers answers[SHOP_MEANINGS];
    /* For --fail-if. Times are of the first answer, since it was due. Committed is what the shop's
     * books list; refused is a definite no in the end; failed is what ended as neither, and what
     * was accepted and not decided although it was asked for. */
    struct measured measured;
};

/* Zeroes `out` first; the caller ends it with sale_fini, of a false one too. False: there is no
 * verdict, since something could not be done. */
bool sale_hold(const struct sale_plan *plan, struct sale *out, struct error *error);
void sale_fini(struct sale *sale);

/* A sale that is over, judged again by the ledger that it has left. Nobody is asked:
 * what buyers were told and what the books said then both stand in it, and the shop may have sold
 * since.
 *
 * By the claims of the target, which must be the one that it was made with. Zeroes `out` first; the
 * caller ends it with sale_fini, of a false one too. False: the ledger is not whole, or of another
 * sale. */
bool sale_judge_again(const char *path, const struct target *target, struct sale *out,
                      struct error *error);

/* Judges the ledger, and counts and measures what stands in it. Of a load that was late itself the
 * claims stand, and what is broken is; its times are not the shop's, so there is no other verdict.
 */
void sale_judge(const struct target *target, struct sale *sale);

#endif
