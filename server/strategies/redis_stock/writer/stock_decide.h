/*
 * Deciding claims, inside the writer's transaction: the steps between BEGIN and the first write.
 *
 * They are decided in this process, in order of arrival, over the tally's locked rows; the
 * statements that write repeat the conditions all the same. PG_OK, or the transaction is to be
 * left.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_DECIDE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_DECIDE_H

#include "sale/decide_many/held.h"
#include "strategies/redis_stock/writer/stock_claim.h"

struct work {
    struct stock_link *link; /* borrowed */
    struct claim *claims;    /* borrowed */
    int count;
    bool fresh;   /* nobody has had the claims before */
    bool lost;    /* they are in Redis no longer, and all that have no row have failed */
    int troubles; /* what the server has said of its own state, so often */
    int waits;    /* in vain, for a lock that one of the claims needs */
    int product_of[WRITE_MAX]; /* of each claim, the tally's index */
    struct tally tally;
};

/* The sale that this claim was made in is over, or was never there. After decide_lock. */
bool decide_ended(const struct work *work, int i);

/* Begins the tally: locks the products' rows, and waits for none of them but this product's
 * (held_wait); 0: none. PG_BUSY: in vain. Claims whose row somebody else holds are HELD, and are
 * left alone by what follows, as those that are LOCKED. */
enum pg_status decide_lock(struct work *work, struct held *held, int64_t product_id);
/* Marks as KNOWN those whose rows are there. Whoever wrote one held the same product's lock, so
 * what is not there now never was. */
enum pg_status decide_known(struct work *work);
/* Gives every claim that is still open its fate. */
enum pg_status decide_all(struct work *work);
/* The same where they are lost. After decide_known. */
void decide_lost(struct work *work);

#endif
