/*
 * Rows of orders, as the arrays that the statements take which write many of them.
 *
 * Large: 100 KB. What it is made of is borrowed until the statement has run.
 */
#ifndef SECKILL_SALE_DECIDE_MANY_COLUMNS_H
#define SECKILL_SALE_DECIDE_MANY_COLUMNS_H

#include "sale/decide_many/tally.h"

/* PostgreSQL's 'epoch'. */
#define COLUMNS_NO_HOLD INT64_C(0)

struct order_columns {
    int count;
    int64_t units; /* in all */
    bool keyed;    /* some have an Idempotency-Key */
    bool sold;     /* all are confirmed, and nothing has to be paid */
    struct uuid ids[TALLY_MAX];
    int64_t products[TALLY_MAX];
    int64_t epochs[TALLY_MAX];
    int64_t users[TALLY_MAX];
    int64_t quantities[TALLY_MAX];
    int64_t created[TALLY_MAX];
    const char *keys[TALLY_MAX]; /* NULL: none */
    int64_t statuses[TALLY_MAX];
    int64_t holds[TALLY_MAX]; /* until when they may be paid; COLUMNS_NO_HOLD: they need not */
    const char *reasons[TALLY_MAX];
};

/* One row to be. */
struct order_row {
    struct uuid id;
    int64_t product_id;
    int64_t epoch;
    int64_t user_id;
    int64_t quantity;
    int64_t created_us;
    int64_t hold_until_us; /* 0: it is confirmed at once */
    const char *key;       /* "": none */
    const char
        *reason; /* the order has failed, and its key is free; NULL: it is confirmed or pending */
};

void columns_init(struct order_columns *to);
void columns_add(struct order_columns *to, const struct order_row *row);
/* A confirmed one, or a pending one. */
void columns_add_order(struct order_columns *to, const struct order *order, int64_t epoch);

/* The last of a tally's steps: tally_commit with the rows. */
enum pg_status columns_commit(const struct order_columns *orders, struct tally *tally,
                              const char *strategy);
/* The one statement of orders without keys, all of one sale and confirmed: stock, rows and commit.
 * With PG_OK it has sold to all of them, or has affected no row. It passes by a held row. */
enum pg_status columns_buy(const struct order_columns *orders, struct pg *pg, const char *strategy,
                           int64_t fence, int64_t until_us);

#endif
