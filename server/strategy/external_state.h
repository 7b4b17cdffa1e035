/*
 * External state: the products and orders that a strategy keeps outside PostgreSQL. GET /orders/ID,
 * GET /products, a PUT, and the cancels and restocks of other strategies read or reset it through
 * this interface. Thread rule: any thread that has a PostgreSQL session to lend.
 */
#ifndef SECKILL_STRATEGY_EXTERNAL_STATE_H
#define SECKILL_STRATEGY_EXTERNAL_STATE_H

#include "postgres/catalog.h"
#include "strategy/strategy.h"

struct pg;

/* `instance` is the strategy's own. */
struct external_state {
    /* An order that PostgreSQL does not know (yet). CATALOG_FAILED: out of reach, nobody knows. */
    enum catalog_result (*order)(void *instance, struct pg *pg, const struct uuid *id,
                                 int64_t until_us, struct order_record *out, struct error *error);
    /* Adds to each product's `reserved` what is held outside; -1 when that is unknown. */
    void (*reserved)(void *instance, struct product *products, int count, int64_t until_us);
    /* A PUT or a PATCH was committed. It must not fail for what happens here. */
    void (*sale_changed)(void *instance, struct pg *pg, int64_t first, int64_t count,
                         int64_t until_us);
    /* Another strategy has added units to these products' rows, or may have; that is committed, and
     * nobody has been told yet. */
    void (*stock_added)(void *instance, struct session *session, const int64_t *products,
                        int count);
};

/* Over all strategies. Of one that cannot be used here PostgreSQL tells whether it may keep orders
 * of a present sale: then nobody here knows about an order, or what is reserved. */
enum catalog_result external_state_order(const struct services *services, struct pg *pg,
                                         const struct uuid *id, int64_t until_us,
                                         struct order_record *out, struct error *error);
void external_state_reserved(const struct services *services, struct product *products, int count,
                             int64_t until_us);
void external_state_sale_changed(const struct services *services, struct pg *pg, int64_t first,
                                 int64_t count, int64_t until_us);

/* The products to whose rows units have been added, or may have been. */
enum { EXTERNAL_STATE_GAINS_MAX = 1000 };
struct external_state_gains {
    int count;
    int64_t products[EXTERNAL_STATE_GAINS_MAX];
};
/* Notes the product if an order of this kind that ends so may have added units: also one that found
 * it done already, because whoever did it may have died before it could say so. At most
 * EXTERNAL_STATE_GAINS_MAX products. */
void external_state_note_gain(struct external_state_gains *to, int64_t product_id,
                              enum order_kind kind, enum order_outcome outcome);
/* To be called after the commit and before the reply. `by`: the strategy that did it; it looks
 * after its own. */
void external_state_stock_added(struct session *session, const struct strategy *by,
                                const struct external_state_gains *gains);

#endif
