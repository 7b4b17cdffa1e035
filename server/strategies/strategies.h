/* The strategies' rows, each defined in its own file, close families in one, and listed in
 * registry.c. */
#ifndef SECKILL_STRATEGIES_STRATEGIES_H
#define SECKILL_STRATEGIES_STRATEGIES_H

#include "strategy/strategy.h"

extern const struct strategy strategy_none;
extern const struct strategy strategy_local_lock;
extern const struct strategy strategy_pessimistic;
extern const struct strategy strategy_optimistic;
extern const struct strategy strategy_conditional;
extern const struct strategy strategy_serializable;
extern const struct strategy strategy_advisory_lock;
extern const struct strategy strategy_lock_row;
extern const struct strategy strategy_buckets;
extern const struct strategy strategy_batch;
extern const struct strategy strategy_redis_setnx;
extern const struct strategy strategy_redis_getset;
extern const struct strategy strategy_redis_expiry;
extern const struct strategy strategy_redis_uuid;
extern const struct strategy strategy_redis_token;
extern const struct strategy strategy_redis_reentrant;
extern const struct strategy strategy_redis_watchdog;
extern const struct strategy strategy_redis_fenced;
extern const struct strategy strategy_redlock;
extern const struct strategy strategy_wllock;
extern const struct strategy strategy_redis_queue;
extern const struct strategy strategy_redis_stock;
extern const struct strategy strategy_memcached_lock;
extern const struct strategy strategy_zookeeper_lock;
extern const struct strategy strategy_partitioned_queue;

/* Test-only controls, built where failpoints are: what does not work, kept for the tests that show
 * it. */
#ifdef SECKILL_FAILPOINTS
extern const struct strategy strategy_control_setnx_no_expiry;
extern const struct strategy strategy_control_watchdog_explicit_lease;
extern const struct strategy strategy_control_unlock_before_commit;
extern const struct strategy strategy_control_upsert_lock;
extern const struct strategy strategy_control_lease_less_lock_row;
#endif

/* In seckill-bench-server alone. */
extern const struct strategy strategy_bench_answer;

#endif
