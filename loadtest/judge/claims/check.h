/*
 * The checker: a ledger against what the database holds. Every check at once, and what the whole
 * entitles to say.
 */
#ifndef SECKILL_LOADTEST_JUDGE_CLAIMS_CHECK_H
#define SECKILL_LOADTEST_JUDGE_CLAIMS_CHECK_H

#include "loadtest/judge/claims/findings.h"
#include "loadtest/judge/evidence/rows_read.h"
#include "loadtest/judge/exact/exact.h"

/* PROVED_NOTHING: nothing was sold, or the exact search gave up. Neither is a pass. */
enum check_verdict { CHECK_CLEAN, CHECK_VIOLATED, CHECK_PROVED_NOTHING };

struct check_result {
    struct findings findings; /* sorted */
    size_t results[LEDGER_RESULTS];
    size_t confirmed; /* buys that are ok and whose order is there, whatever became of it since */
    size_t pending, expired; /* orders by their rows */
    size_t paid, too_late;   /* payments by their answers */
    size_t sold_out;         /* answers */
    size_t believed;         /* buys refused for another reason than the units and the limit */
    size_t exact[EXACT_ANSWERS];
    enum check_verdict verdict;
};

/* False when nothing can be said: no memory, or ledger and database are not of the same sale. Free
 * `result` in either case. */
bool check_run(struct check_result *result, const struct ledger *ledger, const struct rows *rows,
               const struct exact_limits *limits, struct error *error);
void check_result_fini(struct check_result *result);

/* For people: what was recorded, the findings with `most` cases each, and the verdict. */
void check_print(FILE *to, const struct check_result *result, const struct ledger *ledger,
                 size_t most);

#endif
