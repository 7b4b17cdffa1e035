/* Asks each strategy that keeps something outside and can be used here; mostly there is one. */
#include "strategy/external_state.h"

#include "strategy/session.h"

#include <stdlib.h>

/* The next strategy that keeps something outside, from *i on; NULL at the end. */
static const struct external_state *next(const struct services *services, size_t *i,
                                         void **instance)
{
    while (*i < strategy_count()) {
        const struct strategy *strategy = strategy_at((*i)++);
        if (!strategy->external_state || strategy_unavailable_reason(strategy, services))
            continue;
        *instance = strategy_instance(services, strategy);
        return strategy->external_state;
    }
    return NULL;
}

enum catalog_result external_state_order(const struct services *services, struct pg *pg,
                                         const struct uuid *id, int64_t until_us,
                                         struct order_record *out, struct error *error)
{
    void *instance;
    size_t i = 0;

    for (const struct external_state *at; (at = next(services, &i, &instance));) {
        enum catalog_result result = at->order(instance, pg, id, until_us, out, error);
        if (result != CATALOG_NOT_FOUND)
            return result;
    }
    return CATALOG_NOT_FOUND;
}

void external_state_reserved(const struct services *services, struct product *products, int count,
                             int64_t until_us)
{
    void *instance;
    size_t i = 0;

    for (const struct external_state *at; (at = next(services, &i, &instance));)
        at->reserved(instance, products, count, until_us);
}

void external_state_sale_changed(const struct services *services, struct pg *pg, int64_t first,
                                 int64_t count, int64_t until_us)
{
    void *instance;
    size_t i = 0;

    for (const struct external_state *at; (at = next(services, &i, &instance));)
        at->sale_changed(instance, pg, first, count, until_us);
}

static bool may_have_added(enum order_kind kind, enum order_outcome outcome)
{
    if (kind == ORDER_BUY)
        return false;
    return outcome == ORDER_RESTOCKED || outcome == ORDER_CANCELLED || outcome == ORDER_EXPIRED ||
           outcome == ORDER_OUTCOME_UNKNOWN || (outcome == ORDER_REPLAYED && kind == ORDER_RESTOCK);
}

void external_state_note_gain(struct external_state_gains *to, int64_t product_id,
                              enum order_kind kind, enum order_outcome outcome)
{
    if (!may_have_added(kind, outcome))
        return;
    for (int i = 0; i < to->count; i++)
        if (to->products[i] == product_id)
            return;
    if (to->count == EXTERNAL_STATE_GAINS_MAX)
        abort();
    to->products[to->count++] = product_id;
}

void external_state_stock_added(struct session *session, const struct strategy *by,
                                const struct external_state_gains *gains)
{
    void *instance;
    size_t i = 0;

    if (gains->count == 0)
        return;
    for (const struct external_state *at; (at = next(session->services, &i, &instance));)
        if (at != by->external_state)
            at->stock_added(instance, session, gains->products, gains->count);
}
