/*
 * What a 202 waits for with --stock-redis-replicas: the reservation is in the append-only files of
 * Redis and of so many replicas, one of which a failover makes the next primary.
 *
 * The writer has the orders already. So whichever comes first is the answer: the replicas have them
 * (202), or PostgreSQL does (201, or its refusal). Neither in time: OUTCOME_UNKNOWN, as after a
 * lost COMMIT, and the writer ends it; a repeat of the key gets the same order.
 *
 * A reservation is not taken back in Redis: a replica may have it and not what came behind it, and
 * as the next primary it would have the order written of which the buyer was told that there is
 * none.
 *
 * A refusal waits for nothing. "Sold out" may rest on a reservation that a failover forgets; its
 * units come back as those of a cancelled order do, and are sold to the next buyer.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_REPLICAS_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_REPLICAS_H

#include "strategies/redis_stock/stock_link.h"
#include "strategy/session.h"

/* Of those of the orders that are ACCEPTED, or repeat a queued one; on the session on which Redis
 * has just said so: another one, which has another redis_since_us, shows nothing. At once where no
 * replicas are wanted. */
void stock_replicas_wait(struct session *session, const struct stock_shard *shard,
                         struct order **orders, int count, int64_t since_us, int64_t until_us);

#endif
