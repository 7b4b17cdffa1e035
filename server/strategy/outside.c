/* Asks each strategy that keeps something outside and can be used here; mostly there is one. */
#include "strategy/outside.h"

#include "strategy/session.h"

/* The next strategy that keeps something outside, from *i on; NULL at the end. */
static const struct outside *next(const struct services *services, size_t *i)
{
    while (*i < strategy_count()) {
        const struct strategy *strategy = strategy_at((*i)++);
        if (strategy->outside && !strategy_unavailable_reason(strategy, services))
            return strategy->outside;
    }
    return NULL;
}

enum catalog_result outside_order(const struct services *services, struct pg *pg,
                                  const struct uuid *id, int64_t until_us, struct order_record *out,
                                  struct error *error)
{
    size_t i = 0;

    for (const struct outside *at; (at = next(services, &i));) {
        enum catalog_result result = at->order(services, pg, id, until_us, out, error);
        if (result != CATALOG_NOT_FOUND)
            return result;
    }
    return CATALOG_NOT_FOUND;
}

void outside_reserved(const struct services *services, struct product *products, int count,
                      int64_t until_us)
{
    size_t i = 0;

    for (const struct outside *at; (at = next(services, &i));)
        at->reserved(services, products, count, until_us);
}

void outside_sale_started(const struct services *services, struct pg *pg, int64_t first,
                          int64_t count, int64_t until_us)
{
    size_t i = 0;

    for (const struct outside *at; (at = next(services, &i));)
        at->sale_started(services, pg, first, count, until_us);
}

void outside_stock_added(struct session *session, const struct strategy *by,
                         const struct order *list)
{
    size_t i = 0;

    for (const struct outside *at; (at = next(session->services, &i));)
        if (at != by->outside)
            at->stock_added(session, list);
}
