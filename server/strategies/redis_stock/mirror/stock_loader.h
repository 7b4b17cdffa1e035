/*
 * The loader: a thread that loads mirrors whose orders have not the time for it, with sessions of
 * its own, which it has while there is something to load. A product with a limit and hundreds of
 * thousands of holders takes seconds, in which no other product may wait. Any thread may ask.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_MIRROR_STOCK_LOADER_H
#define SECKILL_STRATEGIES_REDIS_STOCK_MIRROR_STOCK_LOADER_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct redis_stock;
struct stock_loader;

/* NULL: `error` says why. `stock` is borrowed. */
struct stock_loader *stock_loader_start(const struct redis_stock *stock, struct error *error);
/* A load that is under way is given up. NULL is allowed. */
void stock_loader_stop(struct stock_loader *loader);

/* This mirror is to be loaded; with too many of them it is not. */
void stock_loader_ask(struct stock_loader *loader, int64_t product_id);
/* It was asked for, and is neither loaded nor given up: its row is left to the loader. */
bool stock_loader_will_load(struct stock_loader *loader, int64_t product_id);

#endif
