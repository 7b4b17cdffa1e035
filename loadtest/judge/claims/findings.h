/*
 * What the checker finds: each violation by the invariant that it breaks, with the operations that
 * show it. claims.def has the table of these, whose numbers are those of docs/JUDGING.md.
 */
#ifndef SECKILL_LOADTEST_JUDGE_CLAIMS_FINDINGS_H
#define SECKILL_LOADTEST_JUDGE_CLAIMS_FINDINGS_H

#include "loadtest/ledger/ledger.h"

#include <stdio.h>

enum finding_kind {
#define CLAIM(id, number, wrong, means, name, needs, find, tested) FINDING_##id,
#include "loadtest/judge/claims/claims.def"
#undef CLAIM
    FINDING_KIND_COUNT
};

const char *finding_invariant(enum finding_kind kind);
const char *finding_name(enum finding_kind kind);

enum { FINDING_OPS_MAX = 8, FINDING_TEXT_SIZE = 400 };

struct finding {
    enum finding_kind kind;
    int64_t product; /* 0: of none */
    int64_t units;   /* of CONSERVATION below 0: the stock lost more than was sold */
    const struct ledger_op *ops[FINDING_OPS_MAX]; /* borrowed: the ledger's; the first of them */
    size_t ops_count;                             /* how many there are in all */
    char text[FINDING_TEXT_SIZE];
};

struct findings {
    struct finding *items; /* owned */
    size_t count;
    size_t counts[FINDING_KIND_COUNT];
    int64_t units[FINDING_KIND_COUNT];
    int64_t gone; /* those of CONSERVATION that the stock lost and nobody bought */
};

/* Findings begin as (struct findings){0}. */
void findings_fini(struct findings *findings);

/* Returned for more operations to be added; valid until the next. */
struct finding *findings_add(struct findings *findings, enum finding_kind kind, int64_t product,
                             int64_t units, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void finding_show(struct finding *finding, const struct ledger_op *op); /* NULL: nothing */

/* In the order of the kinds, the smallest case first. */
void findings_sort(struct findings *findings);

/* What a violation comes to, in units where it has some: "3 units: sold that the stock never lost",
 * "2 times: told a definite no, and it was done". */
void findings_say(const struct findings *findings, enum finding_kind kind, char *out, size_t size);

/* A line a kind, that and the invariant, and under it the `most` smallest cases with their
 * operations. */
void findings_print(FILE *to, const struct findings *findings, size_t most);

#endif
