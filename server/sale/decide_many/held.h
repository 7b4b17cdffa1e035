/*
 * Rows that somebody else holds: when one of them is waited for, and how long.
 *
 * Who decides orders of many products in one transaction passes by rows that are locked
 * (tally_lock_free), so that a product whose row somebody holds for seconds stands in no other
 * product's way. Passing by alone would never get a row that others lock in turns, because whoever
 * waits in PostgreSQL's queue is first. So a row is waited for as well, one at a time: at first for
 * a moment, after each time in vain twice as long and a while later, and never for more than a
 * fifth of the time. Belongs to one thread.
 */
#ifndef SECKILL_SALE_HELD_H
#define SECKILL_SALE_HELD_H

#include "sale/decide_many/tally.h"

enum { HELD_MAX = 64 };

/* All zero: nothing is held. */
struct held {
    int count;
    int64_t due_us; /* of any row */
    struct held_row {
        int64_t product_id;
        int64_t patience_us; /* the next time */
        int64_t due_us;
    } rows[HELD_MAX];
};

/* Was this row waited for in vain, and not had since? */
bool held_is(const struct held *held, int64_t product_id);
/* How long the row may be waited for now; 0: not now. */
int64_t held_patience_us(const struct held *held, int64_t product_id);
/* Of `product_id` and `chosen`, which may be 0, the one whose row may be waited for now, and has
 * not been for longer; 0: neither may be. */
int64_t held_choose(const struct held *held, int64_t chosen, int64_t product_id);

/* It was waited for that long, in vain. */
void held_failed(struct held *held, int64_t product_id, int64_t patience_us);
/* After tally_lock_free: which rows were had. */
void held_note(struct held *held, const struct tally *tally);

/* In a transaction, before anything of it is locked: waits for this row. PG_BUSY: in vain. No later
 * statement of the transaction waits longer for a lock. */
enum pg_status held_wait(struct pg *pg, int64_t product_id, int64_t patience_us, int64_t until_us);

/* Begins a transaction and locks the row; waits for it, if it is time to. PG_BUSY: not now; any
 * other failure, too, leaves the transaction. */
enum pg_status held_take(struct held *held, struct pg *pg, int64_t product_id, int64_t until_us);

/* A product of these whose row is to be had, 0: none is now. Waits for one of them, if it is time
 * to. `pg` is connected and outside of a transaction. */
int64_t held_find_free(struct held *held, struct pg *pg, const int64_t *products, int count,
                       int64_t until_us);

#endif
