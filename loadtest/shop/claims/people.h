/*
 * The history and the books by user, and the orders by id: what the claims look things up in.
 */
#ifndef SECKILL_LOADTEST_SHOP_PEOPLE_H
#define SECKILL_LOADTEST_SHOP_PEOPLE_H

#include "loadtest/shop/claims/history.h"

struct shop_person {
    const char *user; /* borrowed */
    size_t asked;     /* purchases of which the shop heard, repeats too */
    size_t keys;      /* of these, with a key of their own */
    size_t heard;     /* these, and those to which a step before has said no */
    size_t noes;      /* of those, answered with a definite no */
    size_t sold;
    int64_t bought;  /* the same, a repeat of a key not among them */
    int64_t full_us; /* when this user had been told `sold` as often as the limit is; 0: never */
    size_t rows;
    int64_t units;
    const struct shop_row *row, *second; /* the first two orders; borrowed */
};

struct shop_people {
    struct shop_person *items; /* owned; in the order of `user` */
    size_t count;
    const struct shop_row **by_id; /* owned */
    size_t ids;
    int64_t units;                       /* in all orders */
    bool rows_have_ids, rows_have_users; /* every one; of no rows: true */
};

/* Borrows both; `limit`: the target's, or 0. False: out of memory. */
bool people_make(struct shop_people *out, const struct shop_history *history,
                 const struct shop_books *books, int64_t limit);
void people_fini(struct shop_people *people);

/* NULL: nobody of that name asked or has an order; no order has that id. */
struct shop_person *people_find(const struct shop_people *people, const char *user);
const struct shop_row *people_order(const struct shop_people *people, const char *id);

#endif
