/*
 * Whose the stock Redis is. Two databases under one --system-name would load their mirrors over
 * each other's, and an order that waits in one is no order of the other. So each instance has a
 * lease there with its database's mark (store_mark), and has none while one of another database
 * lasts: then no session of this process uses that Redis (redis_server_take), orders of redis-stock
 * are 503, and GET /readyz has both marks.
 *
 *   FREE, OURS ── a look: another database has a lease ──▶ TAKEN
 *   TAKEN ── a look: it was given back, or has ended ──▶ OURS
 *
 * The same holds for instances with another --stock-streams, whose orders stand in other streams.
 * "streams" has the number that was last used (absent: 1). An instance with another one closes the
 * old shards, where nothing is reserved then, even by an instance that was frozen, and unloads
 * their mirrors; as long as something waits there it is TAKEN, and has no lease but for its looks,
 * so that an instance with the old number may come, open them again and decide that. Several
 * streams are used only after a look has found them open.
 *
 * The writer looks as it takes its turns and writes, twice a second; a stop gives the lease back. A
 * database that was restored or made again, and so has another mark, is kept waiting by what is
 * left of its own instances' leases, for STOCK_LEASE_MS at most. Between the end of a lease whose
 * instance is frozen and that instance's next look two databases may use the Redis; then epochs
 * keep them apart (stock_take_over.lua). One thread at a time.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_LEASE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_LEASE_H

#include "base/random/random.h"
#include "strategies/redis_stock/stock_link.h"
#include "strategy/strategy.h"

struct stock_lease {
    const struct services *services;   /* borrowed: app */
    const struct stock_shards *shards; /* borrowed */
    struct redis *redis;               /* owned: the session that asks though others may not */
    char instance[RANDOM_TOKEN_LENGTH + 1];
    int64_t look_at_us;
    atomic_bool agreed; /* upon the number of streams */
};

/* With the first look. */
bool stock_lease_init(struct stock_lease *lease, const struct services *services,
                      const struct stock_shards *shards, struct error *error);
/* Gives it back. */
void stock_lease_fini(struct stock_lease *lease);
/* Looks, if it is time, and takes or renews the lease. Where Redis does not answer, all stays as it
 * was; where PostgreSQL has not been seen yet, the Redis is used as if it were ours, for what waits
 * in it is to be seen (GET /metrics). */
void stock_lease_keep(struct stock_lease *lease);
/* Any thread: whether the shards are open, as far as is known, and that one is not. */
bool stock_lease_agreed(struct stock_lease *lease);
void stock_lease_doubt(struct stock_lease *lease);

#endif
