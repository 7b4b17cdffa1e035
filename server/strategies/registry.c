/* The one list of strategies. A new one is a file and a line here. */
#include "strategies/strategies.h"

#include "strategy/backends.h"

#include <string.h>

static const struct strategy *const strategies[] = {
    &strategy_none,
    &strategy_local_lock,
    &strategy_pessimistic,
    &strategy_optimistic,
    &strategy_conditional,
    &strategy_serializable,
    &strategy_advisory_lock,
    &strategy_lock_row,
    &strategy_buckets,
    &strategy_batch,
    &strategy_redis_setnx,
    &strategy_redis_getset,
    &strategy_redis_expiry,
    &strategy_redis_uuid,
    &strategy_redis_token,
    &strategy_redis_reentrant,
    &strategy_redis_watchdog,
    &strategy_redis_fenced,
    &strategy_redlock,
    &strategy_wllock,
    &strategy_redis_queue,
    &strategy_memcached_lock,
    &strategy_zookeeper_lock,
    &strategy_redis_stock,
    &strategy_partitioned_queue,
#ifdef SECKILL_FAILPOINTS
    &strategy_control_setnx_no_expiry,
    &strategy_control_watchdog_explicit_lease,
    &strategy_control_unlock_before_commit,
    &strategy_control_upsert_lock,
    &strategy_control_lease_less_lock_row,
#endif
#ifdef SECKILL_BENCH
    &strategy_bench_answer,
#endif
};

size_t strategy_total(void)
{
    return sizeof strategies / sizeof strategies[0];
}

size_t strategy_count(void)
{
    size_t count = 0;

    while (count < strategy_total() && !strategies[count]->control)
        count++;
    return count;
}

const struct strategy *strategy_at(size_t index)
{
    return strategies[index];
}

const struct strategy *strategy_find(const char *name)
{
    for (size_t i = 0; i < strategy_total(); i++)
        if (strcmp(strategies[i]->name, name) == 0)
            return strategies[i];
    return NULL;
}

size_t strategy_index(const struct strategy *strategy)
{
    size_t i = 0;

    while (strategies[i] != strategy)
        i++;
    return i;
}

const char *strategy_family_name(enum strategy_family family)
{
    static const char *const names[] = {
        [FAMILY_NOTHING] = "nothing",       [FAMILY_DATABASE] = "database",
        [FAMILY_REDIS_LOCK] = "redis-lock", [FAMILY_OTHER_LOCK] = "other-lock",
        [FAMILY_QUEUE] = "queue",
    };

    return names[family];
}

const char *strategy_unavailable_reason(const struct strategy *strategy,
                                        const struct services *services)
{
    return backends_lacking(services, strategy->needs);
}

bool strategies_start(const struct services *services, struct error *error)
{
    for (size_t i = 0; i < strategy_count(); i++)
        if (strategies[i]->start && !strategy_unavailable_reason(strategies[i], services) &&
            !strategies[i]->start(services, error))
            return false;
    return true;
}

void strategies_stop(const struct services *services)
{
    for (size_t i = 0; i < strategy_count(); i++)
        if (strategies[i]->stop)
            strategies[i]->stop(services);
}
