/*
 * A ledger and its books side by side, in the orders in which the checks walk them: buys by claim
 * (the user and the key, or what was asked for without one), rows by the same claim, and for each
 * row who asked for it and from when it was sure.
 *
 * Building it sorts a few lists: O(n log n) in operations and rows.
 */
#ifndef SECKILL_LOADTEST_JUDGE_EVIDENCE_VIEW_H
#define SECKILL_LOADTEST_JUDGE_EVIDENCE_VIEW_H

#include "loadtest/base/pool.h"
#include "loadtest/judge/claims/findings.h"

/* --- people ---
 *
 * The buyers of a shop: what each was told and has in the books. A shop's rows have no keys, and
 * its answers may have no ids, so most of what can be said of it is said of a user. */

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
    struct person *items; /* in the order of `user` */
    size_t count;
    int64_t units;                          /* in all orders */
    bool rows_have_ids, rows_have_users;    /* every one; of no rows: true */
    size_t sold, sold_out;                  /* answers, in the end */
    size_t repeats;                         /* of which the shop heard */
    size_t with_ids;                        /* answers `sold` that told one */
    size_t told_ids;                        /* these ids, each once */
    size_t told_orders;                     /* at least so many purchases were told `sold` */
    int64_t first_sold_out_us;              /* when that was told; LEDGER_NEVER: to nobody */
    const struct ledger_op *first_sold_out; /* of the one who asked first; borrowed; NULL: none */
};

/* Every answer was a definite no. */
static inline bool person_was_refused(const struct person *person)
{
    return person->heard > 0 && person->noes == person->heard;
}

/* Somebody who asked or has an order. */
struct person *people_find(const struct people *people, const char *user);
/* "" where there is none. */
const char *people_name(const struct ledger_op *op);

/* --- orders and products --- */

/* An order's row, and what the ledger says of it. Where a time is not known it is such that no
 * conclusion is drawn from it: 0 for a beginning, LEDGER_NEVER for an end. */
struct view_order {
    const struct row_order *row;
    const struct ledger_op *buy; /* the first that may have made it; NULL: nobody knows of one */
    int64_t buy_start_us;
    int64_t buy_sure_us;            /* somebody had been told that it is sold */
    bool accepted;                  /* the first answer was no sale yet (202) */
    const struct ledger_op *cancel; /* the first that may have cancelled it; NULL: none */
    int64_t cancel_sure_us;
    bool cancel_refused; /* somebody was told that it cannot be cancelled */

    int64_t hold_s;                     /* the least that its buys named; 0: one named none */
    bool held;                          /* somebody saw it pending */
    const struct ledger_op *paid;       /* the first that showed it as confirmed; NULL: none */
    const struct ledger_op *expired;    /* the first that was told that its hold is over */
    const struct ledger_op *pay_failed; /* the last payment that was refused */
    bool pay_done, pay_unknown;         /* one was done; one has no answer */
    int64_t expired_seen_us;            /* somebody had seen it expired */
    const struct ledger_op *told;       /* of reads and payments, what showed it furthest */
};

/* A product of the ledger, with what is about it. */
struct view_product {
    const struct ledger_product *sale;
    const struct row_product *row;      /* NULL: the books do not name it */
    const struct ledger_op *const *ops; /* in the order of their beginnings */
    size_t ops_count;
    struct view_order *const *orders; /* by user */
    size_t orders_count;
};

enum exact_answer { EXACT_NOT_TRIED, EXACT_YES, EXACT_NO, EXACT_UNKNOWN, EXACT_ANSWERS };

/* How many operations a product may have for the exact search to be tried, and its budget. */
struct exact_limits {
    size_t ops;
    int64_t budget;
};

struct view {
    const struct ledger *ledger; /* borrowed, as the next two */
    const struct rows *rows;
    struct findings *findings;
    struct exact_limits limits;
    const char *order_pointer;      /* borrowed; where a shop says an order's id; NULL: nowhere */
    struct pool pool;               /* owned, with all that is below */
    struct people *people;          /* of a shop's ledger; NULL: of our own servers' */
    const struct ledger_op **buys;  /* by claim, then by their beginning */
    struct view_order *orders;      /* as rows->orders */
    struct view_order **by_claim;   /* the same by claim */
    struct view_order **by_user;    /* the same by product, then by user */
    struct view_order **by_id;      /* those that have one */
    const struct ledger_op **times; /* every operation by product, then by its beginning */
    const struct ledger_op **list;  /* room for every operation twice, for the check that runs */
    struct view_product *products;  /* as ledger->products */
    size_t buys_count, ids_count, times_count;
    size_t sold_out;             /* set by check_refusals: answers */
    size_t exact[EXACT_ANSWERS]; /* set by exact_check: products */
};

/* `view` has what is borrowed and the limits. */
void view_init(struct view *view);
void people_make(struct view *view); /* its part, of a shop's */
void view_fini(struct view *view);

/* NULL: there is no such row. NULL is nobody's id. */
struct view_order *view_find(const struct view *view, const char *order);

/* The row that the buy may have made: by the order that its answer named, or by its key; of what a
 * shop sold, where that is not told, the one row of its user. NULL: nobody knows of one. */
struct view_order *view_find_made(const struct view *view, const struct ledger_op *op);

/* Whether they are of one claim, as the order of the lists has it: <0, 0, >0. */
int view_compare_ops(const struct ledger_op *a, const struct ledger_op *b);
int view_compare_row(const struct ledger_op *op, const struct row_order *row);

/* Zeroed room for a check's own items, until the end of the view. */
void *view_take(struct view *view, size_t count, size_t item_bytes);

/* An order that was shown in one state may later be in the other, or still. */
bool view_may_become(enum ledger_state from, enum ledger_state to);

/* The answer says that the unit is sold, and not only that it was accepted. */
bool view_is_sale(const struct ledger_op *op);

/* Its units are taken, or were: it is sold, or held for somebody who may pay. */
static inline bool view_is_taken(enum ledger_state state)
{
    return state == LEDGER_CONFIRMED || state == LEDGER_CANCELLED || state == LEDGER_PENDING ||
           state == LEDGER_EXPIRED;
}

/* Its units are not for others: they count against the stock and against a user's limit. */
static inline bool view_keeps(const struct row_order *row)
{
    return row->state == LEDGER_CONFIRMED || row->state == LEDGER_PENDING;
}

/* The earliest moment at which the end of its hold may have given its units back. A hold is
 * measured by PostgreSQL's clock, which may be slewed against the ledger's. */
int64_t view_hold_over_us(const struct view_order *order);

/* When the end of its hold had surely given them back; LEDGER_NEVER: nobody can say. The units of
 * an order that was accepted first (202) stand elsewhere too, and come back there a little
 * later. */
int64_t view_expired_sure_us(const struct view_order *order);

/* A cancelled or sold row, or one still to be decided: anything but a refusal. */
static inline bool view_takes(const struct row_order *row)
{
    return row->state != LEDGER_FAILED;
}

/* "(no id)" where a shop names none; NULL is no row. */
static inline const char *view_id(const struct row_order *row)
{
    return row && row->id ? row->id : "(no id)";
}

bool view_is_code(const struct ledger_op *op, const char *code);

#endif
