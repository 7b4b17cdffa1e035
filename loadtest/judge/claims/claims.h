/*
 * The table of what is judged (claims.def), and the finding of what is wrong: of our own servers'
 * ledgers against what their database holds, and of anybody's shop, by the same functions, as far
 * as the evidence goes; and what the whole entitles to say.
 *
 * The claims of somebody's shop are judged by a ledger of what its buyers were told and what its
 * books said. For a broken one the numbers, and an example that shows it. A claim that the audit
 * does not name, or that this load did not put to the test, is "not checked", with the reason: it
 * is never a pass. Pure: any thread.
 */
#ifndef SECKILL_LOADTEST_JUDGE_CLAIMS_CLAIMS_H
#define SECKILL_LOADTEST_JUDGE_CLAIMS_CLAIMS_H

#include "loadtest/judge/evidence/view.h"

/* "" of what no shop claims. */
const char *claim_name(enum finding_kind kind);

/* --- the checks of the table ---
 *
 * Each looks at one question, adds what it finds to the view's findings, and takes at most
 * O(n log n). What a check cannot know it takes in favour of the service: a finding is never a
 * guess. */

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

/* --- of a shop --- */

enum claim_result { CLAIM_NOT_ASKED, CLAIM_KEPT, CLAIM_NOT_CHECKED, CLAIM_BROKEN };

/* A claim's result and its words: the numbers, and for a broken one an example. */
struct claim_finding {
    enum claim_result result;
    char text[FINDING_TEXT_SIZE];
};

/* Each is the exit status of a program that says so. */
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
 * they name neither. */
void claims_judge(const struct shop_terms *terms, struct ledger *ledger,
                  struct shop_judgement *out);

/* "kept", "not checked", "BROKEN", "" of one that was not asked; "kept", "BROKEN", "INVALID". */
const char *claim_result_name(enum claim_result result);
const char *shop_verdict_name(enum shop_verdict verdict);

/* --- of our own servers --- */

/* Each is an exit status, as the other. PROVED_NOTHING: nothing was sold, or the exact search gave
 * up. Neither is a pass. */
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

/* False when nothing can be said: ledger and database are not of the same sale. The caller ends the
 * findings in either case. */
bool check_run(struct check_result *result, const struct ledger *ledger, const struct rows *rows,
               const struct exact_limits *limits, struct error *error);

/* For people: what was recorded, the findings with `most` cases each, and the verdict. */
void check_print(FILE *to, const struct check_result *result, const struct ledger *ledger,
                 size_t most);

#endif
