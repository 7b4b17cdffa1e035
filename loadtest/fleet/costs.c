/* See costs.h. */
#include "loadtest/fleet/costs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const costs_ends[COSTS_ENDS] = {"committed", "refused", "accepted", "neither"};
const char *const costs_stores[COSTS_STORES] = {"postgresql", "redis"};
const char *const costs_measures[COSTS_MEASURES] = {"statements", "round_trips", "flushes",
                                                    "bytes"};

/* The place that the family and its labels name; NULL: there is none. */
static int64_t *place(struct costs *costs, const char *family, const char *ended, const char *store)
{
    for (int end = 0; end < COSTS_ENDS; end++) {
        if (strcmp(costs_ends[end], ended) != 0)
            continue;
        if (strcmp(family, "orders") == 0)
            return &costs->orders[end];
        for (int i = 0; i < COSTS_STORES; i++)
            for (int measure = 0; measure < COSTS_MEASURES; measure++)
                if (strcmp(costs_stores[i], store) == 0 &&
                    strcmp(costs_measures[measure], family) == 0)
                    return &costs->spent[end][i][measure];
    }
    return NULL;
}

bool costs_add_metric(struct costs *costs, const char *line, const char *strategy)
{
    char family[32], its_strategy[64], ended[32], store[32] = "";
    if (sscanf(line,
               "seckill_cost_%31[a-z_]{strategy=\"%63[^\"]\",ended=\"%31[^\"]\",store=\"%31[^\"]\"",
               family, its_strategy, ended, store) < 3)
        return false;
    char *total = strstr(family, "_total");
    if (total)
        *total = '\0';
    int64_t *at = place(costs, family, ended, store);
    if (!at)
        return false;
    if (strcmp(its_strategy, strategy) == 0)
        *at += strtoll(line + strcspn(line, "}") + 1, NULL, 10);
    return true;
}

void costs_add(struct costs *sum, const struct costs *after, const struct costs *before)
{
    for (int end = 0; end < COSTS_ENDS; end++) {
        sum->orders[end] += after->orders[end] - before->orders[end];
        for (int store = 0; store < COSTS_STORES; store++)
            for (int measure = 0; measure < COSTS_MEASURES; measure++)
                sum->spent[end][store][measure] +=
                    after->spent[end][store][measure] - before->spent[end][store][measure];
    }
}

double costs_each(const struct costs *costs, int end, int store, int measure)
{
    return costs->orders[end] > 0
               ? (double)costs->spent[end][store][measure] / (double)costs->orders[end]
               : 0;
}
