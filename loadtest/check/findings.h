/*
 * What the checker finds: each violation by the invariant that it breaks, with the operations that
 * show it. The numbers are those of docs/JUDGING.md.
 */
#ifndef SECKILL_LOADTEST_CHECK_FINDINGS_H
#define SECKILL_LOADTEST_CHECK_FINDINGS_H

#include "loadtest/ledger/ledger.h"

#include <stdio.h>

/* Name in code, invariant, name for people, what it says. */
#define FINDING_KINDS(X)                                                                           \
    X(CONSERVATION, "A1", "conservation", "stock is not initial + restocked - sold - held")        \
    X(OVERSOLD, "A3", "oversold", "more units were sold than there were")                          \
    X(ABSENT, "A4", "acknowledged but absent", "told that it was done, and it was not")            \
    X(OTHERWISE, "A4", "acknowledged otherwise", "the row is not what was asked for")              \
    X(INVENTED, "A5", "invented", "in the database, and nobody asked for it")                      \
    X(REFUSED, "A6", "refused but done", "told a definite no, and it was done")                    \
    X(DUPLICATE, "A8", "duplicate", "two orders of one key, or one order of two")                  \
    X(DISAGREE, "A8", "repeats disagree", "two answers to one key")                                \
    X(BACKWARDS, "A8", "goes backwards", "a later answer shows an earlier state")                  \
    X(LIMIT, "A9", "limit broken", "a user has more than the limit")                               \
    X(FALSE_LIMIT, "A9", "false limit", "told \"limit reached\", and the user had fewer")          \
    X(UNDERSOLD, "A11", "undersold", "told \"sold out\", and the unit is still there")             \
    X(FALSE_SOLD_OUT, "A12", "false sold-out", "told \"sold out\" while a unit was free")          \
    X(FENCING, "A13", "fencing order", "a later operation under an earlier token")                 \
    X(UNFINISHED, "A14", "unfinished", "accepted, and never decided")                              \
    X(CACHE, "A15", "cache differs", "Redis's stock is not the database's")                        \
    X(FEED, "A16", "feed differs", "the feed's last word of an order is not its state")            \
    X(RESIDUE, "A17", "residue", "left behind when all was quiet")                                 \
    X(PAID_LOST, "H1", "paid but not sold", "told that it is paid, and it is not sold")            \
    X(PAID_EXPIRED, "H2", "paid and expired", "paid by one answer or the row, expired by another") \
    X(EXPIRED_EARLY, "H3", "expired early", "told that it came too late, and it did not")          \
    X(HOLD_OPEN, "H4", "hold not ended", "its hold is over, and its units did not go back")        \
    X(NOT_LINEARIZABLE, "WG", "not linearizable", "no order of the operations explains it")

enum finding_kind {
#define X(id, invariant, name, meaning) FINDING_##id,
    FINDING_KINDS(X)
#undef X
        FINDING_KIND_COUNT
};

const char *finding_invariant(enum finding_kind kind);
const char *finding_name(enum finding_kind kind);

enum { FINDING_OPS_MAX = 8 };

struct finding {
    enum finding_kind kind;
    int64_t product; /* 0: of none */
    int64_t units;
    const struct ledger_op *ops[FINDING_OPS_MAX]; /* borrowed: the ledger's; the first of them */
    size_t ops_count;                             /* how many there are in all */
    char text[200];
};

struct findings {
    struct finding *items; /* owned */
    size_t count, size;
    size_t counts[FINDING_KIND_COUNT];
    int64_t units[FINDING_KIND_COUNT];
    struct finding spare;
    bool no_memory; /* something is missing: nothing may be said of what was checked */
};

/* Findings begin as (struct findings){0}. */
void findings_fini(struct findings *findings);

/* Returned for more operations to be added; valid until the next. Never NULL. */
struct finding *findings_add(struct findings *findings, enum finding_kind kind, int64_t product,
                             int64_t units, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void finding_show(struct finding *finding, const struct ledger_op *op); /* NULL: nothing */

/* In the order of the kinds, the smallest case first. */
void findings_sort(struct findings *findings);

/* A line a kind, and under it the `most` smallest cases with their operations. */
void findings_print(FILE *to, const struct findings *findings, size_t most);

#endif
