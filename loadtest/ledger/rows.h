/*
 * What books hold of a ledger's products: our database's, from one snapshot (products and
 * orders of the present sale, and what stands about that should not), or a shop's own, as its
 * target says how to get at them (the units left, and orders).
 *
 * Rows that only say that something was not done (tombstones) are left out.
 */
#ifndef SECKILL_LOADTEST_LEDGER_ROWS_H
#define SECKILL_LOADTEST_LEDGER_ROWS_H

#include "loadtest/ledger/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Within these no sum of what a shop's books say leaves 64 bits: a target's stock is a billion at
 * most, and what is left of it may be below 0. */
#define ROWS_UNITS_MAX INT64_C(1000000000)
#define ROWS_LEFT_MAX  INT64_C(1000000000000)

struct row_product {
    int64_t id, epoch;      /* the id first: rows_find */
    int64_t initial, stock; /* its buckets are in it */
    int64_t restocked;      /* in all */
    int64_t limit;          /* 0: none */
    int cell;               /* whose database has it; 0: there are no cells */
};

struct row_order {
    char *id, *user; /* owned; NULL: not named, which shops alone do */
    int64_t product, quantity;
    enum ledger_state state; /* never LEDGER_STATE_NONE */
    bool overdue;            /* pending, and its hold has been over for 10 s, or has no end */
    char *key;               /* owned; NULL: none */
    int cell;                /* whose database has it; 0: there are no cells */
    bool lost;               /* failed, because the stock's Redis has lost it */
    enum ledger_state told;  /* the feed's last word, where it is another; else LEDGER_STATE_NONE */
};

/* redis-stock's copy of a product, where it was looked at. */
struct row_mirror {
    int64_t product;
    int64_t stock, reserved; /* left to reserve; reserved and not decided */
};

struct rows {
    bool has_left;   /* a shop's `left` was read, -ROWS_LEFT_MAX .. ROWS_LEFT_MAX */
    bool has_orders; /* the orders were read */
    int64_t left;
    struct row_product *products; /* owned; in the order of their ids */
    size_t products_count;
    struct row_product *strays; /* owned: further rows of these products, in other cells */
    size_t strays_count;
    struct row_order *orders; /* owned */
    size_t orders_count;
    /* Residue, of these databases: */
    int64_t idle_transactions;  /* sessions in a transaction that has done nothing for 5 s */
    int64_t prepared;           /* prepared transactions */
    int64_t waiting;            /* sessions that have waited for a lock for 5 s */
    struct row_mirror *mirrors; /* owned; redis_look.c */
    size_t mirrors_count;
    int64_t leaseless; /* locks in Redis without a lease */
};

/* Begin as (struct rows){0}. */
void rows_fini(struct rows *rows);

/* A new one, sold and else zeroed; NULL: no memory. Valid until the next. */
struct row_order *rows_add_order(struct rows *rows);

/* NULL: there is none. */
const struct row_product *rows_find_product(const struct rows *rows, int64_t id);

/* Of items that begin with their number, an int64_t: by it, as qsort takes it; and the one that has
 * it, of a list in their order, or NULL. */
int rows_compare(const void *a, const void *b);
void *rows_find(const void *items, size_t count, size_t item_bytes, int64_t number);

#endif
