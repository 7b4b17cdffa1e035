/* Asks each strategy that keeps something outside; mostly there is one. */
#include "strategy/external_state.h"

#include "postgres/pg.h"
#include "strategy/session.h"

#include <stdlib.h>

/* The next strategy that keeps something outside, from *i on; NULL at the end. *lacking: why it
 * cannot be used here, or NULL; `lacking` NULL: only one that can. */
static const struct strategy *next(const struct services *services, size_t *i, const char **lacking)
{
    while (*i < strategy_list_offered(services->strategies)) {
        const struct strategy *strategy = services->strategies->at[(*i)++];
        const char *reason = strategy_unavailable_reason(strategy, services);
        if (!strategy->external_state || (reason && !lacking))
            continue;
        if (lacking)
            *lacking = reason;
        return strategy;
    }
    return NULL;
}

static enum catalog_result may_wait(const struct strategy *strategy, const char *lacking,
                                    struct pg *pg, int64_t until_us, struct error *error)
{
    if (pg_exec(pg, SQL_ELSEWHERE, PG_NO_ARGS, until_us) != PG_OK) {
        *error = *pg_error(pg);
        return CATALOG_FAILED;
    }
    if (!pg_get_bool(pg, 0, 0))
        return CATALOG_NOT_FOUND;
    error_set(error, ERROR_UNAVAILABLE, "It may wait in %s, where this server cannot look: %s.",
              strategy->name, lacking);
    return CATALOG_HIDDEN;
}

enum catalog_result external_state_order(const struct services *services, struct pg *pg,
                                         const struct uuid *id, int64_t until_us,
                                         struct order_record *out, struct error *error)
{
    const char *lacking;
    size_t i = 0;

    for (const struct strategy *at; (at = next(services, &i, &lacking));) {
        enum catalog_result result =
            lacking ? may_wait(at, lacking, pg, until_us, error)
                    : at->external_state->order(strategy_instance(services, at), pg, id, until_us,
                                                out, error);
        if (result != CATALOG_NOT_FOUND)
            return result;
    }
    return CATALOG_NOT_FOUND;
}

void external_state_reserved(const struct services *services, struct product *products, int count,
                             int64_t until_us)
{
    const char *lacking;
    size_t i = 0;

    for (const struct strategy *at; (at = next(services, &i, &lacking));) {
        for (int n = 0; lacking && n < count; n++)
            if (products[n].elsewhere)
                products[n].reserved = -1;
        if (!lacking)
            at->external_state->reserved(strategy_instance(services, at), products, count,
                                         until_us);
    }
}

void external_state_sale_changed(const struct services *services, struct pg *pg, int64_t first,
                                 int64_t count, int64_t until_us)
{
    size_t i = 0;

    for (const struct strategy *at; (at = next(services, &i, NULL));)
        at->external_state->sale_changed(strategy_instance(services, at), pg, first, count,
                                         until_us);
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
    size_t i = 0;

    if (gains->count == 0)
        return;
    for (const struct strategy *at; (at = next(session->services, &i, NULL));)
        if (at != by)
            at->external_state->stock_added(strategy_instance(session->services, at), session,
                                            gains->products, gains->count);
}
