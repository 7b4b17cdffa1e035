#include "strategies/redis_stock/stock_link.h"

#include "base/clock.h"
#include "base/put.h"

#include <stdio.h>
#include <string.h>

void stock_key(const struct settings *settings, const char *name, int64_t id,
               char out[STOCK_KEY_MAX])
{
    int n = snprintf(out, STOCK_KEY_MAX, "{%s}:stock", settings->system_name);

    if (name)
        n += snprintf(out + n, (size_t)(STOCK_KEY_MAX - n), ":%s", name);
    if (id >= 0)
        snprintf(out + n, (size_t)(STOCK_KEY_MAX - n), ":%lld", (long long)id);
}

void stock_key_add(char key[STOCK_KEY_MAX], const char *more)
{
    size_t length = strlen(key);

    snprintf(key + length, STOCK_KEY_MAX - length, "%s", more);
}

void stock_number(int64_t n, char out[STOCK_NUMBER_MAX])
{
    put_number(out, n);
}

void stock_give_time(struct stock_link *link)
{
    link->until_us = clock_mono_us() + link->settings->work_timeout_ms * CLOCK_US_PER_MS;
}
