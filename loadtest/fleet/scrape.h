/*
 * What a server's GET /metrics says about orders, summed into the classes that the harness speaks
 * of.
 */
#ifndef SECKILL_LOADTEST_FLEET_SCRAPE_H
#define SECKILL_LOADTEST_FLEET_SCRAPE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct counts {
    int64_t total;     /* orders of this strategy and kind, however they ended */
    int64_t committed; /* confirmed; for restocks: restocked */
    int64_t accepted;  /* 202: decided later */
    int64_t other_2xx; /* replayed, cancelled */
    int64_t sold_out;
    int64_t limited; /* told that their user has all that the limit allows */
    int64_t refused; /* final noes, sold_out and limited among them */
    int64_t failed;  /* shed: nothing was done; internal_error among them */
    int64_t internal_errors;
    int64_t unknown;   /* 504: may have been done */
    int64_t attempts;  /* how often the strategy tried, whatever for */
    int64_t strangers; /* orders of other strategies or kinds */
};

/* What orders cost PostgreSQL and Redis (seckill_cost_*_total): costs are charged to how the orders
 * ended, so they can be divided. */
enum { COSTS_ENDS = 4, COSTS_STORES = 2, COSTS_MEASURES = 4 };
extern const char *const costs_ends[COSTS_ENDS]; /* committed, refused, accepted, neither */
extern const char *const costs_stores[COSTS_STORES];
extern const char *const costs_measures[COSTS_MEASURES];

struct costs {
    int64_t orders[COSTS_ENDS];
    int64_t spent[COSTS_ENDS][COSTS_STORES][COSTS_MEASURES];
};

struct scrape {
    struct counts counts; /* since the server started */
    struct costs costs;   /* the same */
    int64_t in_flight;
    int64_t connections; /* that clients have open */
    double started_s;    /* when the process began; 0: the page does not say */
};

/* Reads Prometheus text. `kind` is buy, cancel or restock. False when a line that matters cannot be
 * read, an outcome is not known here, or the gauge is missing. */
bool scrape_parse(const char *text, const char *strategy, const char *kind, struct scrape *out,
                  struct error *error);

/* Raises the most that each server has had open at once, without the asker's own; their sum. What
 * one look is too slow to see of all servers together it sees of one after the other. */
int64_t scrape_most_open(int64_t *most, const struct scrape *scrapes, size_t count);

/* Whether they are of two processes. Not where one of them does not say. */
bool scrape_is_another(const struct scrape *before, const struct scrape *after);

/* Adds what came between. */
void counts_add(struct counts *sum, const struct counts *after, const struct counts *before);
void costs_add(struct costs *sum, const struct costs *after, const struct costs *before);

/* What one order has cost; 0 where there was none. */
double costs_each(const struct costs *costs, int end, int store, int measure);

#endif
