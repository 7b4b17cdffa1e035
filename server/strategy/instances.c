/* The list that the services bring: where a strategy stands in it, whether it can be used here, and
 * the instances of those that have one. */
#include "strategy/backends.h"
#include "strategy/strategy.h"

#include <stdlib.h>

size_t strategy_list_offered(const struct strategy_list *list)
{
    size_t count = 0;

    while (count < list->total && !list->at[count]->control)
        count++;
    return count;
}

size_t strategy_list_index(const struct strategy_list *list, const struct strategy *strategy)
{
    size_t i = 0;

    while (list->at[i] != strategy)
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
    return services->instances
               ? services->instances[strategy_list_index(services->strategies, strategy)]
               : NULL;
}

bool strategies_start(struct services *services, struct error *error)
{
    const struct strategy_list *list = services->strategies;

    services->instances = calloc(services->strategies->total, sizeof *services->instances);
    if (!services->instances)
        return error_set(error, ERROR_INTERNAL, "out of memory");
    for (size_t i = 0; i < strategy_list_offered(list); i++) {
        if (!list->at[i]->start || backends_lacking(services, list->at[i]->needs))
            continue;
        services->instances[i] = list->at[i]->start(services, error);
        if (!services->instances[i])
            return false;
    }
    return true;
}

void strategies_stop(struct services *services)
{
    const struct strategy_list *list = services->strategies;

    for (size_t i = 0; services->instances && i < strategy_list_offered(list); i++)
        if (services->instances[i])
            list->at[i]->stop(services->instances[i]);
    free(services->instances);
    services->instances = NULL;
}
