/*
 * Reserving: a batch of buys of one product in one script call (lua/stock/stock_reserve.lua).
 *
 * Keys that PostgreSQL knows are sorted out first. A mirror that is not loaded, or of another
 * epoch, is loaded and the call made again. When the answer is lost the call is found by its
 * number: either it has run and its answer is read, or it never will.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_RESERVE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_RESERVE_H

#include "strategies/redis_stock/mirror/stock_mirror.h"
#include "strategies/redis_stock/reserve/stock_call.h"
#include "strategy/session.h"

struct redis_stock;

/* Sets the outcome of each of the orders, at most RESERVE_MAX. */
void stock_reserve(struct session *session, struct order **orders, int count);

/* About the product's shard; of a session of redis-stock, or of any strategy. */
struct stock_link stock_link_of(struct session *session, int64_t product_id);
struct stock_link stock_link_in(const struct redis_stock *stock, struct session *session,
                                int64_t product_id);

#endif
