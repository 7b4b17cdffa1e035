/*
 * What the database holds of a ledger's products, from one snapshot: products, orders and restocks
 * of the present sale, and what stands about in the database that should not (residue).
 *
 * Rows that only say that something was not done (tombstones) are left out.
 */
#ifndef SECKILL_LOADTEST_CHECK_ROWS_H
#define SECKILL_LOADTEST_CHECK_ROWS_H

#include "loadtest/ledger/ledger.h"

struct row_product {
    int64_t id, epoch;
    int64_t initial, stock; /* its buckets are in it */
    int64_t limit;          /* 0: none */
};

struct row_order {
    char id[LEDGER_ID_SIZE];
    int64_t product, user, quantity;
    enum ledger_state state; /* never LEDGER_STATE_NONE */
    bool overdue;            /* pending, and its hold has been over for 10 s, or has no end */
    char *key;               /* owned; NULL: none */
    bool lost;               /* failed, because the stock's Redis has lost it */
    enum ledger_state told;  /* the feed's last word, where it is another; else LEDGER_STATE_NONE */
};

struct row_restock {
    int64_t product, quantity;
};

/* redis-stock's copy of a product, where it was looked at. */
struct row_mirror {
    int64_t product;
    int64_t stock, reserved; /* left to reserve; reserved and not decided */
};

struct rows {
    struct row_product *products; /* owned; in the order of their ids */
    size_t products_count;
    struct row_order *orders; /* owned; in the order of their ids */
    size_t orders_count;
    struct row_restock *restocks; /* owned */
    size_t restocks_count;
    /* Residue, of this database: */
    int64_t idle_transactions;  /* sessions in a transaction that has done nothing for 5 s */
    int64_t prepared;           /* prepared transactions */
    int64_t waiting;            /* sessions that have waited for a lock for 5 s */
    struct row_mirror *mirrors; /* owned; redis_look.h */
    size_t mirrors_count;
    int64_t leaseless; /* locks in Redis without a lease */
};

/* `conninfo` "": libpq's PG* variables; `schema`: as --schema takes it. `out` begins as
 * (struct rows){0}, or as redis_look has left it. Free it in either case. */
bool rows_read(struct rows *out, const struct ledger *ledger, const char *conninfo,
               const char *schema, struct error *error);
void rows_fini(struct rows *rows);

const struct row_product *rows_find_product(const struct rows *rows, int64_t id);
/* NULL: there is none. "" is nobody's id. */
const struct row_order *rows_find_order(const struct rows *rows, const char *id);

#endif
