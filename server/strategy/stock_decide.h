/*
 * Deciding claims, inside the writer's transaction: the steps between BEGIN and the first write.
 *
 * They are decided in this process, in order of arrival, over rows that this transaction has
 * locked; the statements that write repeat the conditions all the same.
 */
#ifndef SECKILL_STRATEGY_STOCK_DECIDE_H
#define SECKILL_STRATEGY_STOCK_DECIDE_H

#include "strategy/stock_write.h"

/* A product's row under our lock. */
struct product_state {
    int64_t id;
    int64_t stock;
    int64_t epoch;
    int64_t limit;
    int64_t units; /* taken by this transaction */
    bool open;
    bool split; /* some of the stock stands in buckets */
    int64_t asked;
};

/* What a user holds of a product with a limit. */
struct share {
    int64_t product_id;
    int64_t user_id;
    int64_t held;
    int64_t added;
};

struct work {
    struct stock_link *link;
    struct claim *claims;
    int count;
    int rows_count;
    int shares_count;
    struct product_state rows[WRITE_MAX];
    struct share shares[WRITE_MAX];
};

/* The row of a product that was locked; NULL: there is none. */
struct product_state *decide_row(struct work *work, int64_t product_id);

/* Locks the products' rows, in id order, in a statement of its own. */
enum pg_status decide_lock(struct work *work);
/* Marks as KNOWN those whose rows are there. Whoever wrote one held the same product's lock, so
 * what is not there now never was. */
enum pg_status decide_known(struct work *work);
/* Gives every claim that is still open its fate. */
enum pg_status decide_all(struct work *work);

#endif
