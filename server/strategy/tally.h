/*
 * The tally: what a batch of buys comes to, decided in this process, in arrival order, whoever
 * fits.
 *
 * It does no I/O. The combiner tells it each product's locked row, what each user holds already and
 * which keys are taken; the tally sets the outcomes of the orders that are refused and adds up what
 * the others take. An order costs the same however many stand before it: products, users and keys
 * are looked up by hash.
 */
#ifndef SECKILL_STRATEGY_TALLY_H
#define SECKILL_STRATEGY_TALLY_H

#include "strategy/purchase.h"

enum { TALLY_MAX = 500, TALLY_SLOTS = 1024 };

/* A set of pairs of numbers, each with its index in order of arrival. */
struct pairs {
    int count;
    int64_t a[TALLY_MAX];
    int64_t b[TALLY_MAX];
    int16_t slots[TALLY_SLOTS]; /* an index, or -1 */
};

struct tally {
    struct order **orders; /* borrowed */
    int count;
    int product_of[TALLY_MAX]; /* of each order, an index below */

    struct pairs products; /* (id, 0) */
    struct product_row rows[TALLY_MAX];
    bool known[TALLY_MAX];
    int64_t asked[TALLY_MAX]; /* units that the orders want in all */
    int64_t taken[TALLY_MAX]; /* units that they get */

    struct pairs shares;     /* (a product's index, user), where there is a limit */
    int64_t held[TALLY_MAX]; /* what the user has already */
    int64_t added[TALLY_MAX];

    struct pairs keys; /* (user, hash of key) of the orders let through */
};

/* At most TALLY_MAX buys, all pending. */
void tally_init(struct tally *tally, struct order **orders, int count);
void tally_set_row(struct tally *tally, int64_t product_id, const struct product_row *row);
/* Once the rows are known: names the shares of what is still pending. */
void tally_share(struct tally *tally);
/* Sets the outcome of every pending order that is refused, or that repeats the key of one let
 * through (KEY_TAKEN: to be looked up after it). What stays PENDING is to be sold. */
void tally_decide(struct tally *tally);

#endif
