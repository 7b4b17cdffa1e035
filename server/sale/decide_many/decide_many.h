/*
 * Many buys, of any products, decided in one transaction: the part that all strategies share.
 *
 * Happy path, one attempt: BEGIN; the products' rows are locked in id order (tally.h); the adapter
 * says which orders are decided already (a repeated key, a row that stands there); in order of
 * arrival it judges whether each of the others fits; it writes their rows and commits. Rows that
 * are read after the locks cannot change until then, because every sale holds the product's row.
 *
 * States of an order; each attempt begins with OPEN, or with LOCKED where the order rests:
 *
 *   OPEN      nothing could be done about it now
 *   DECIDED   committed; or it was decided before
 *   HELD      another transaction holds its product's row, which is passed by; or too many others
 *             have waited in vain
 *   LOCKED    it has waited in vain for another lock, and rests (held.h)
 *
 * A transaction that fails has done nothing, or its COMMIT was lost and the adapter finds what it
 * did. Then, where the adapter has no rule of its own:
 *
 *   a conflict             it is tried anew, after a pause, 20 times at most
 *   a wait in vain, or     the orders are halved until the one that needs the lock is alone:
 *   rows were withheld     LOCKED. After 12 such waits the rest is HELD
 *   a row is refused       halved; the one that is refused alone so many times is written as failed
 *   anything else          it speaks of the server, and no order fails of it: a few times halved,
 *                          so that what troubles one order does not stop the others; then OPEN
 *
 * At the end the orders that are HELD are tried once more, behind the one row that may be waited
 * for (held.h). A decision belongs to one thread, allocates nothing, and is large: 200 KB.
 */
#ifndef SECKILL_SALE_DECIDE_MANY_H
#define SECKILL_SALE_DECIDE_MANY_H

#include "sale/decide_many/held.h"

enum decide_state { DECIDE_OPEN, DECIDE_DECIDED, DECIDE_HELD, DECIDE_LOCKED };

struct decide_order {
    struct uuid id;
    int64_t product_id;
    int64_t user_id; /* this and the quantity before it is judged */
    int64_t quantity;
    int product; /* the tally's index, in an attempt */
    enum decide_state state;
};

/* What follows an attempt that has failed. */
enum decide_next {
    NEXT_DONE,  /* its orders have their states */
    NEXT_PART,  /* each part of them is tried alone */
    NEXT_AGAIN, /* all of them once more */
    NEXT_LEFT   /* they stay open */
};

struct decision {
    const struct decider *by;
    void *context;          /* borrowed: the adapter's own */
    struct pg *pg;          /* borrowed */
    struct held *held;      /* borrowed; NULL: rows are waited for */
    bool fresh;             /* no order was decided before, so that is not looked for */
    int64_t parts_until_us; /* later no second part begins; INT64_MAX: each does */
    int64_t until_us;       /* of an attempt: set by the adapter's `begin` */
    int total;
    struct decide_order orders[TALLY_MAX];
    struct error trouble; /* the first one, where there were any */
    int troubles;
    int waits;     /* in vain, for what one of the orders needs */
    bool burying;  /* the attempt is the burial of one order */
    const int *at; /* the attempt's orders: `count` places in `orders` */
    int count;
    int places[TALLY_MAX];
    struct tally tally; /* the attempt's */
};

/* An adapter: how one kind of caller decides. The functions look at the attempt's orders alone. */
struct decider {
    const char *name; /* in the log */
    int refusals_max; /* alone, before an order is buried */
    int troubles_max;
    /* Gives the attempt its time (until_us) and connects. False: PostgreSQL is out of reach. */
    bool (*begin)(struct decision *decision);
    /* NULL, or one statement in place of the transaction, while they are fresh. PG_OK: all are
     * DECIDED; or, when they are still open, the transaction is to follow. */
    enum pg_status (*at_once)(struct decision *decision);
    /* NULL, or locks the tally's rows in place of tally_lock_free. */
    enum pg_status (*lock)(struct decision *decision);
    /* Notes as DECIDED those that are not to be judged. */
    enum pg_status (*known)(struct decision *decision);
    /* Notes what becomes of one order; or that it has failed because it cannot be written. */
    void (*judge)(struct decision *decision, int i);
    void (*bury)(struct decision *decision, int i);
    /* Writes what was judged, in the order of locks: shares, orders' rows, stocks; and commits. */
    enum pg_status (*write)(struct decision *decision);
    /* NULL, or what follows a failure, in place of the rules above. */
    enum decide_next (*failed)(struct decision *decision, enum pg_status status);
    /* NULL: the first half is one part. Or puts a part's places first, in order of arrival; how
     * many they are. */
    int (*part)(struct decision *decision, int *at);
};

/* Without an order yet. `fresh` is false and `parts_until_us` without an end, until the caller says
 * otherwise. */
void decide_init(struct decision *decision, const struct decider *by, void *context, struct pg *pg,
                 struct held *held);
void decide_add(struct decision *decision, const struct uuid *id, int64_t product_id,
                int64_t user_id, int64_t quantity);

/* Decides the orders, at most TALLY_MAX. False: some are OPEN, and the same may be asked again. */
bool decide_many(struct decision *decision);

#endif
