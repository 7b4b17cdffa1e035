/*
 * The buyers of a shop: what each was told and has in the books. A shop's rows have no keys, and
 * its answers may have no ids, so most of what can be said of it is said of a user.
 */
#ifndef SECKILL_LOADTEST_JUDGE_EVIDENCE_PEOPLE_H
#define SECKILL_LOADTEST_JUDGE_EVIDENCE_PEOPLE_H

#include "loadtest/ledger/ledger.h"

struct person {
    const char *user; /* borrowed */
    size_t asked;     /* purchases of which the shop heard, repeats too */
    size_t keys;      /* of these, with a key of their own */
    size_t heard;     /* these, and those to which a step before has said no */
    size_t noes;      /* of those, answered with a definite no */
    size_t sold;
    int64_t bought;  /* the same, a repeat of a key not among them */
    int64_t full_us; /* when this user had been told `sold` as often as the limit is; 0: never */
    size_t rows;
    const struct row_order *row, *second; /* the first two orders; borrowed */
};

struct people {
    struct person *items; /* owned; in the order of `user` */
    size_t count;
    int64_t units;                       /* in all orders */
    bool rows_have_ids, rows_have_users; /* every one; of no rows: true */
    size_t sold, sold_out;               /* answers, in the end */
    size_t repeats;                      /* of which the shop heard */
    size_t told_ids;                     /* that buyers were told with `sold`, each once */
    size_t told_orders;                  /* at least so many purchases were told `sold` */
    int64_t first_sold_out_us;           /* LEDGER_NEVER: nobody was told so */
};

/* Borrows the ledger. */
void people_make(struct people *out, const struct ledger *ledger);
void people_fini(struct people *people);

/* Every answer was a definite no. */
static inline bool person_was_refused(const struct person *person)
{
    return person->heard > 0 && person->noes == person->heard;
}

/* Somebody who asked or has an order. */
struct person *people_find(const struct people *people, const char *user);
/* "" where there is none. */
const char *people_name(const struct ledger_op *op);

#endif
