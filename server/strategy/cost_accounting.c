#include "strategy/cost_accounting.h"

#include "metrics/cost.h"
#include "metrics/metrics.h"

#include <stdio.h>

enum { STRATEGIES_MAX = 64, NO_COUNTER = -1 };

static const char *const ends[SPENDING_ENDS] = {
    [SPENT_COMMITTED] = "committed",
    [SPENT_REFUSED] = "refused",
    [SPENT_ACCEPTED] = "accepted",
    [SPENT_NEITHER] = "neither",
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

static struct {
    int groups[SPENDING_ENDS];
    int orders[SPENDING_ENDS];
    int costs[SPENDING_ENDS][COST_STORES][COST_MEASURES];
} counters[STRATEGIES_MAX];

static bool uses(const struct strategy *strategy, enum spending_end end, enum cost_store store,
                 enum cost_measure measure)
{
    if (end == SPENT_ACCEPTED && !strategy->asynchronous)
        return false;
    if (store == COST_POSTGRESQL)
        return true;
    /* A lock's Redis is not waited for until it has flushed. */
    return strategy->needs &
           (measure == COST_FLUSHES ? NEED_STOCK_REDIS
                                    : NEED_STOCK_REDIS | NEED_REDIS | NEED_REDLOCK);
}

static void register_costs(const struct strategy *strategy, enum cost_measure measure)
{
    char labels[128];

    for (int end = 0; end < SPENDING_ENDS; end++)
        for (int store = 0; store < COST_STORES; store++) {
            int *counter = &counters[strategy_index(strategy)].costs[end][store][measure];
            *counter = NO_COUNTER;
            if (!uses(strategy, (enum spending_end)end, (enum cost_store)store, measure))
                continue;
            snprintf(labels, sizeof labels, "strategy=\"%s\",ended=\"%s\",store=\"%s\"",
                     strategy->name, ends[end], stores[store]);
            *counter = metrics_counter(counters[strategy_index(strategy)].groups[end],
                                       measures[measure].family, measures[measure].help, labels);
        }
}

static void register_orders(const struct strategy *strategy)
{
    char labels[128];

    for (int end = 0; end < SPENDING_ENDS; end++) {
        snprintf(labels, sizeof labels, "strategy=\"%s\",ended=\"%s\"", strategy->name, ends[end]);
        counters[strategy_index(strategy)].orders[end] = metrics_counter(
            counters[strategy_index(strategy)].groups[end], "seckill_cost_orders_total",
            "Buys that the costs were charged to. One that was refused beside "
            "others that were sold is not among the refused here; one accepted "
            "(202) is counted again when it is decided; under neither, attempts.",
            labels);
    }
}

void spending_init(void)
{
    for (size_t i = 0; i < strategy_total(); i++)
        for (int end = 0; end < SPENDING_ENDS; end++)
            counters[i].groups[end] = metrics_group();
    for (int measure = 0; measure < COST_MEASURES; measure++)
        for (size_t i = 0; i < strategy_total(); i++)
            register_costs(strategy_at(i), (enum cost_measure)measure);
    for (size_t i = 0; i < strategy_total(); i++)
        register_orders(strategy_at(i));
}

void spending_charge(const struct strategy *strategy, enum spending_end end, int orders)
{
    size_t i = strategy_index(strategy);

    for (int store = 0; store < COST_STORES; store++) {
        struct cost cost = cost_take((enum cost_store)store);
        for (int measure = 0; measure < COST_MEASURES; measure++) {
            int counter = counters[i].costs[end][store][measure];
            if (cost.of[measure] > 0 && counter != NO_COUNTER)
                metrics_add(counter, cost.of[measure]);
        }
    }
    if (orders > 0)
        metrics_add(counters[i].orders[end], (uint64_t)orders);
}

void spending_count_buy(struct spending_count *count, enum order_outcome outcome)
{
    switch (outcome) {
    case ORDER_CONFIRMED:
        count->ends[SPENT_COMMITTED]++;
        break;
    case ORDER_ACCEPTED:
        count->ends[SPENT_ACCEPTED]++;
        break;
    case ORDER_SOLD_OUT:
    case ORDER_LIMIT_REACHED:
    case ORDER_SALE_NOT_OPEN:
    case ORDER_IDEMPOTENCY_MISMATCH:
    case ORDER_UNKNOWN_PRODUCT:
        count->ends[SPENT_REFUSED]++;
        break;
    default:
        count->ends[SPENT_NEITHER]++;
    }
}

enum spending_end spending_charge_count(const struct strategy *strategy,
                                        const struct spending_count *count)
{
    static const enum spending_end in_order[] = {SPENT_COMMITTED, SPENT_ACCEPTED, SPENT_REFUSED};
    enum spending_end end = SPENT_NEITHER;

    for (size_t i = 0; end == SPENT_NEITHER && i < sizeof in_order / sizeof *in_order; i++)
        if (count->ends[in_order[i]] > 0)
            end = in_order[i];
    spending_charge(strategy, end, count->ends[end]);
    return end;
}
