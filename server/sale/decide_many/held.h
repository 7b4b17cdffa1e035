/*
 * Rows that somebody else holds: when one of them is waited for, and how long.
 *
 * A transaction that decides orders of many products passes by rows that are locked
 * (tally_lock_free), so that a product whose row somebody holds for seconds stands in no other
 * product's way. Passing by alone would never get a row that others lock in turns, because the
 * waiters in PostgreSQL's queue come first. So a row is waited for as well, one at a time: at first
 * for a moment, after each time in vain twice as long and a while later, and never for more than a
 * fifth of the time. Belongs to one thread.
 *
 * One order may need another lock: the row of what its user has bought, a key that another
 * transaction is writing, its own row. Nobody can pass by such a lock, so the session waits for it
 * (held_limit), and the caller halves its orders until that one is alone (held_waited). It then
 * rests for a while, in which it is not tried (held_rests).
 */
#ifndef SECKILL_SALE_HELD_H
#define SECKILL_SALE_HELD_H

#include "sale/decide_many/tally.h"

/* WAITS_MAX: how often a caller waits in vain before it leaves the rest of its orders for later;
 * enough to find one order of a thousand. */
enum { HELD_MAX = 64, HELD_WAITS_MAX = 12 };

/* All zero: nothing is held. */
struct held {
    int count;
    int64_t due_us; /* of any row */
    struct held_row {
        int64_t product_id;
        int64_t patience_us; /* the next time */
        int64_t due_us;
    } rows[HELD_MAX];
    int orders_count;
    int64_t look_us; /* until then nothing that is held is looked for */
    struct held_order {
        struct uuid id;
        int64_t due_us;
    } orders[HELD_MAX];
};

/* From now on no statement of the session waits long for a lock: PG_BUSY. Once a session. */
void held_limit(struct pg *pg);
/* One of several orders (`id` is NULL), or this one, has waited in vain for a lock that is not its
 * product's row. */
void held_waited(struct held *held, const struct uuid *id);
/* Not to be tried now: it was the last one a moment ago. */
bool held_rests(const struct held *held, const struct uuid *id);

/* Was this row waited for in vain, and not had since? */
bool held_is(const struct held *held, int64_t product_id);
/* How long the row may be waited for now; 0: not now. */
int64_t held_patience_us(const struct held *held, int64_t product_id);
/* Of `product_id` and `chosen`, which may be 0, the one whose row may be waited for now, and has
 * not been for longer; 0: neither may be. */
int64_t held_choose(const struct held *held, int64_t chosen, int64_t product_id);

/* After tally_lock_free: which rows were had. */
void held_note(struct held *held, const struct tally *tally);

/* In a transaction, before anything of it is locked: waits for this row, as long as it may now be
 * waited for. PG_BUSY: in vain. */
enum pg_status held_wait(struct held *held, struct pg *pg, int64_t product_id, int64_t until_us);

/* Begins a transaction and locks the row; waits for it, if it is time to. PG_BUSY: not now; any
 * other failure, too, leaves the transaction. */
enum pg_status held_take(struct held *held, struct pg *pg, int64_t product_id, int64_t until_us);

/* A product of these whose row is to be had, 0: none is now. Waits for one of them, if it is time
 * to. `pg` is connected and outside of a transaction. */
int64_t held_find_free(struct held *held, struct pg *pg, const int64_t *products, int count,
                       int64_t until_us);

#endif
