/*
 * What strategies keep of products and orders outside PostgreSQL, for those who read or reset them
 * by no strategy: GET /orders/ID, GET /products, a PUT, and the cancels and restocks of strategies
 * that know nothing of it. Called on any thread that has a PostgreSQL session to lend.
 */
#ifndef SECKILL_STRATEGY_OUTSIDE_H
#define SECKILL_STRATEGY_OUTSIDE_H

#include "store/catalog.h"
#include "strategy/strategy.h"

struct pg;

struct outside {
    /* An order that PostgreSQL does not know (yet). CATALOG_FAILED: out of reach, nobody knows. */
    enum catalog_result (*order)(const struct services *services, struct pg *pg,
                                 const struct uuid *id, int64_t until_us, struct order_record *out,
                                 struct error *error);
    /* Adds to each product's `reserved` what is held outside; -1 when that is unknown. */
    void (*reserved)(const struct services *services, struct product *products, int count,
                     int64_t until_us);
    /* A PUT was committed. It must not fail for what happens here. */
    void (*sale_started)(const struct services *services, struct pg *pg, int64_t first,
                         int64_t count, int64_t until_us);
    /* Another strategy has added units to these products' rows, or may have. */
    void (*stock_added)(struct session *session, const struct order *list);
};

/* Over all strategies that can be used here. */
enum catalog_result outside_order(const struct services *services, struct pg *pg,
                                  const struct uuid *id, int64_t until_us, struct order_record *out,
                                  struct error *error);
void outside_reserved(const struct services *services, struct product *products, int count,
                      int64_t until_us);
void outside_sale_started(const struct services *services, struct pg *pg, int64_t first,
                          int64_t count, int64_t until_us);
/* `by`: the strategy whose orders these are; it looks after its own. */
void outside_stock_added(struct session *session, const struct strategy *by,
                         const struct order *list);

#endif
