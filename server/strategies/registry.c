/* The registry: the list of strategies (strategies.def) as an array, and what can be asked of it.
 */
#include "strategies/strategies.h"

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

const struct strategy_list strategy_list = {strategies, sizeof strategies / sizeof strategies[0]};

size_t strategy_total(void)
{
    return strategy_list.total;
}

size_t strategy_count(void)
{
    return strategy_list_offered(&strategy_list);
}

const struct strategy *strategy_at(size_t index)
{
    return strategies[index];
}

size_t strategy_index(const struct strategy *strategy)
{
    return strategy_list_index(&strategy_list, strategy);
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
