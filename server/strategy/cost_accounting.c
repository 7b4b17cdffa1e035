#include "strategy/cost_accounting.h"

#include "metrics/cost.h"
#include "metrics/metrics.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const ends[COST_OUTCOMES] = {
    [COST_COMMITTED] = "committed",
    [COST_REFUSED] = "refused",
    [COST_ACCEPTED] = "accepted",
    [COST_OTHER] = "neither",
};
static const char *const stores[COST_STORES] = {
    [COST_POSTGRESQL] = "postgresql",
    [COST_REDIS] = "redis",
};

#define CHARGED " Divide by seckill_cost_orders_total with the same labels but store."
static const struct {
    const char *family;
    const char *help;
} measures[COST_MEASURES] = {
    [COST_STATEMENTS] = {"seckill_cost_statements_total",
                         "Statements, BEGIN and COMMIT among them, and commands or scripts of "
                         "Redis." CHARGED},
    [COST_ROUND_TRIPS] = {"seckill_cost_round_trips_total",
                          "Times that an answer was waited for." CHARGED},
    [COST_FLUSHES] =
        {"seckill_cost_flushes_total",
         "COMMITs that had written something; of redis-stock's Redis: reservations, and "
         "entries read and settled. Each waits for a disk." CHARGED},
    [COST_BYTES] = {"seckill_cost_bytes_total", "Bytes sent and received." CHARGED},
};

struct cost_counters {
    int groups[COST_OUTCOMES];
    struct metric orders[COST_OUTCOMES];
    struct metric costs[COST_OUTCOMES][COST_STORES][COST_MEASURES]; /* of none: not counted */
};

static bool uses(const struct strategy *strategy, enum cost_outcome end, enum cost_store store,
                 enum cost_measure measure)
{
    if (end == COST_ACCEPTED && !strategy->asynchronous)
        return false;
    if (store == COST_POSTGRESQL)
        return true;
    /* A lock's Redis is not waited for until it has flushed. */
    return strategy->needs &
           (measure == COST_FLUSHES ? NEED_STOCK_REDIS
                                    : NEED_STOCK_REDIS | NEED_REDIS | NEED_REDLOCK);
}

static void register_costs(struct metrics *metrics, struct cost_counters *to,
                           const struct strategy *strategy, enum cost_measure measure)
{
    char labels[128];

    for (int end = 0; end < COST_OUTCOMES; end++)
        for (int store = 0; store < COST_STORES; store++) {
            if (!uses(strategy, (enum cost_outcome)end, (enum cost_store)store, measure))
                continue;
            snprintf(labels, sizeof labels, "strategy=\"%s\",ended=\"%s\",store=\"%s\"",
                     strategy->name, ends[end], stores[store]);
            to->costs[end][store][measure] = metrics_counter(
                metrics, to->groups[end], measures[measure].family, measures[measure].help, labels);
        }
}

static void register_orders(struct metrics *metrics, struct cost_counters *to,
                            const struct strategy *strategy)
{
    char labels[128];

    for (int end = 0; end < COST_OUTCOMES; end++) {
        snprintf(labels, sizeof labels, "strategy=\"%s\",ended=\"%s\"", strategy->name, ends[end]);
        to->orders[end] =
            metrics_counter(metrics, to->groups[end], "seckill_cost_orders_total",
                            "Buys that the costs were charged to. One that was refused beside "
                            "others that were sold is not among the refused here; one accepted "
                            "(202) is counted again when it is decided; under neither, attempts.",
                            labels);
    }
}

struct cost_counters *cost_counters_create(struct metrics *metrics,
                                           const struct strategy_list *list)
{
    size_t count = list->total;
    struct cost_counters *counters = calloc(count, sizeof *counters);

    if (!counters)
        return NULL;
    for (size_t i = 0; i < count; i++)
        for (int end = 0; end < COST_OUTCOMES; end++)
            counters[i].groups[end] = metrics_group(metrics);
    for (int measure = 0; measure < COST_MEASURES; measure++)
        for (size_t i = 0; i < count; i++)
            register_costs(metrics, &counters[i], list->at[i], (enum cost_measure)measure);
    for (size_t i = 0; i < count; i++)
        register_orders(metrics, &counters[i], list->at[i]);
    return counters;
}

void cost_counters_destroy(struct cost_counters *counters)
{
    free(counters);
}

void cost_charge(const struct services *services, const struct strategy *strategy,
                 enum cost_outcome end, int orders)
{
    const struct cost_counters *counters =
        &services->costs[strategy_list_index(services->strategies, strategy)];

    for (int store = 0; store < COST_STORES; store++) {
        struct cost cost = cost_take((enum cost_store)store);
        for (int measure = 0; measure < COST_MEASURES; measure++) {
            struct metric counter = counters->costs[end][store][measure];
            if (cost.of[measure] > 0 && counter.of)
                metrics_add(counter, cost.of[measure]);
        }
    }
    if (orders > 0)
        metrics_add(counters->orders[end], (uint64_t)orders);
}

void cost_count_buy(struct cost_outcomes *count, enum order_outcome outcome)
{
    switch (outcome) {
    case ORDER_CONFIRMED:
        count->ends[COST_COMMITTED]++;
        break;
    case ORDER_ACCEPTED:
        count->ends[COST_ACCEPTED]++;
        break;
    case ORDER_SOLD_OUT:
    case ORDER_LIMIT_REACHED:
    case ORDER_SALE_NOT_OPEN:
    case ORDER_IDEMPOTENCY_MISMATCH:
    case ORDER_UNKNOWN_PRODUCT:
        count->ends[COST_REFUSED]++;
        break;
    default:
        count->ends[COST_OTHER]++;
    }
}

enum cost_outcome cost_charge_outcomes(const struct services *services,
                                       const struct strategy *strategy,
                                       const struct cost_outcomes *count)
{
    static const enum cost_outcome in_order[] = {COST_COMMITTED, COST_ACCEPTED, COST_REFUSED};
    enum cost_outcome end = COST_OTHER;

    for (size_t i = 0; end == COST_OTHER && i < sizeof in_order / sizeof *in_order; i++)
        if (count->ends[in_order[i]] > 0)
            end = in_order[i];
    cost_charge(services, strategy, end, count->ends[end]);
    return end;
}
