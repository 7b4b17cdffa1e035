/*
 * The tally: what a batch of buys comes to, product by product and user by user.
 *
 * A decision (decide_many.h) keeps one: it names the products, locks their rows in id order in a
 * statement of its own (tally_lock), reads what users hold of those with a limit, and then asks
 * tally_judge order by order, in order of arrival: whoever fits. In the end the tally writes what
 * was decided, an upsert of limits and an update of stocks, under the same conditions once more.
 * Keys are the caller's; columns.h writes the orders' own rows.
 *
 * An order costs the same however many stand before it: products and users are looked up by hash.
 * tally.c does no I/O, tally_rows.c does all of it. It belongs to one thread, allocates nothing,
 * and is large: 120 KB.
 */
#ifndef SECKILL_SALE_TALLY_H
#define SECKILL_SALE_TALLY_H

#include "sale/purchase.h"

enum { TALLY_MAX = 1000, TALLY_SLOTS = 2048 };

/* A set of pairs of numbers, at most TALLY_MAX, each with its index in order of arrival. */
struct pairs {
    int count;
    int64_t a[TALLY_MAX];
    int64_t b[TALLY_MAX];
    int16_t slots[TALLY_SLOTS]; /* an index, or -1 */
};

void pairs_init(struct pairs *pairs);
/* -1: it is not there. */
int pairs_find(const struct pairs *pairs, int64_t a, int64_t b);
/* True when it is new; *index says which one it is. */
bool pairs_add(struct pairs *pairs, int64_t a, int64_t b, int *index);

struct tally {
    struct pg *pg;    /* borrowed; the caller has begun a transaction, and ends it */
    int64_t until_us; /* for every statement but tally_lock's */
    int64_t fence;    /* that the rows must carry; 0: none */
    bool key_missed;  /* tally_commit's PG_CONFLICT: a key of somebody else's, or rows withheld */
    bool committing;  /* a COMMIT was sent: a lost reply leaves it unknown */

    struct pairs products; /* (id, 0) */
    struct product_row rows[TALLY_MAX];
    bool known[TALLY_MAX];    /* the row is there and locked */
    bool busy[TALLY_MAX];     /* it is there, and somebody else holds it: tally_lock_free */
    int64_t asked[TALLY_MAX]; /* units that the orders want in all */
    int64_t taken[TALLY_MAX]; /* units that they get */

    struct pairs shares;     /* (a product's index, user), where there is a limit */
    int64_t held[TALLY_MAX]; /* what the user has already */
    int64_t added[TALLY_MAX];
};

void tally_init(struct tally *tally, struct pg *pg, int64_t fence, int64_t until_us);
/* The product's index, the same each time. Before tally_lock. */
int tally_product(struct tally *tally, int64_t product_id);
/* Waits until `until_us`. *found is how many of the products have a row (under that fence). */
enum pg_status tally_lock(struct tally *tally, int64_t until_us, int *found);
/* Reads the rows and locks none, which PostgreSQL would log: for refusals. */
enum pg_status tally_look(struct tally *tally);
/* Waits for no row; in place of tally_lock, where nobody has a fence. Orders of a locked product
 * cannot be decided now; the product is not unknown. */
enum pg_status tally_lock_free(struct tally *tally);

/* An order of a known product is going to be judged: what it asks for, and for whom. */
void tally_want(struct tally *tally, int product, int64_t user_id, int64_t units);
/* Once all of them are told of: reads what users hold. Rows that are short of what is asked for,
 * and have buckets, get them back. Remembers the products' sales, and which one statement could
 * have sold (fast_path.h). */
enum pg_status tally_read(struct tally *tally);

/* PENDING: the units are the user's, and counted. Else UNKNOWN_PRODUCT, SALE_NOT_OPEN, SOLD_OUT or
 * LIMIT_REACHED, and nothing is. */
enum order_outcome tally_judge(struct tally *tally, int product, int64_t user_id, int64_t units);

/* Write the decisions, in this order, which is the lock order, with the orders' rows between
 * them. */
enum pg_status tally_write_shares(struct tally *tally);
enum pg_status tally_write_stocks(struct tally *tally);
/* In place of the last one: the orders' `rows` rows, the stocks and the COMMIT in one round trip.
 * The product rows are locked and were read, so that what does not fit can only be a bug, and
 * raises an error. A key that somebody holds elsewhere does not, so where some orders are `keyed`
 * their rows are counted first: PG_CONFLICT, so all is to be decided anew. */
enum pg_status tally_commit(struct tally *tally, const struct pg_command *insert, int rows,
                            bool keyed);
/* Runs a statement that must match `rows` rows of a table, exactly as many as were decided, under
 * the products' locks: PG_WITHHELD when it has not. */
enum pg_status tally_write(struct tally *tally, enum sql statement, const struct pg_value *values,
                           int count, int64_t rows, const char *table);

#endif
