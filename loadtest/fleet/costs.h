/*
 * What orders cost PostgreSQL and Redis, as a server's GET /metrics counts it
 * (seckill_cost_*_total): costs are charged to how the orders ended, so they can be divided.
 */
#ifndef SECKILL_LOADTEST_FLEET_COSTS_H
#define SECKILL_LOADTEST_FLEET_COSTS_H

#include <stdbool.h>
#include <stdint.h>

enum { COSTS_ENDS = 4, COSTS_STORES = 2, COSTS_MEASURES = 4 };
extern const char *const costs_ends[COSTS_ENDS]; /* committed, refused, accepted, neither */
extern const char *const costs_stores[COSTS_STORES];
extern const char *const costs_measures[COSTS_MEASURES];

struct costs {
    int64_t orders[COSTS_ENDS];
    int64_t spent[COSTS_ENDS][COSTS_STORES][COSTS_MEASURES];
};

/* Adds one metric of this strategy. False: it is none of those. */
bool costs_add_metric(struct costs *costs, const char *line, const char *strategy);
void costs_add(struct costs *sum, const struct costs *after, const struct costs *before);

/* What one order has cost; 0 where there was none. */
double costs_each(const struct costs *costs, int end, int store, int measure);

#endif
