/* The registry: the list of strategies (strategies.def) as an array, and what can be asked of it.
 */
#include "strategies/strategies.h"

#include "strategy/backends.h"

#include <stdlib.h>
#include <string.h>

static const struct strategy *const strategies[] = {
#define STRATEGY(symbol, file) &strategy_##symbol,
#ifdef SECKILL_FAILPOINTS
#define CONTROL STRATEGY
#else
#define CONTROL(symbol, file)
#endif
#ifdef SECKILL_BENCH
#define BENCH STRATEGY
#else
#define BENCH(symbol, file)
#endif
#include "strategies/strategies.def"
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

const struct strategy *strategy_stand_in(const struct strategy *strategy)
{
    if (!strategy->mixes || strategy->needs == NEED_POSTGRESQL)
        return NULL;
    for (size_t i = 0; i < strategy_count(); i++)
        if (strategies[i]->mixes && strategies[i]->needs == NEED_POSTGRESQL &&
            !strategies[i]->cancel)
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
    const char *lacking = backends_lacking(services, strategy->needs);

    if (!lacking && services->instances && strategy->start &&
        !strategy_instance(services, strategy))
        return "it could not be used when this server started: start it again";
    return lacking;
}

void *strategy_instance(const struct services *services, const struct strategy *strategy)
{
    return services->instances ? services->instances[strategy_index(strategy)] : NULL;
}

bool strategies_start(struct services *services, struct error *error)
{
    services->instances = calloc(strategy_total(), sizeof *services->instances);
    if (!services->instances)
        return error_set(error, ERROR_INTERNAL, "out of memory");
    for (size_t i = 0; i < strategy_count(); i++) {
        if (!strategies[i]->start || backends_lacking(services, strategies[i]->needs))
            continue;
        services->instances[i] = strategies[i]->start(services, error);
        if (!services->instances[i])
            return false;
    }
    return true;
}

void strategies_stop(struct services *services)
{
    for (size_t i = 0; services->instances && i < strategy_count(); i++)
        if (services->instances[i])
            strategies[i]->stop(services->instances[i]);
    free(services->instances);
    services->instances = NULL;
}
