#include "strategies/redis_stock/stock_link.h"

#include "base/log.h"
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

enum stock_result stock_redis_failed(struct redis *redis)
{
    log_warn("redis-stock: %s", redis_error(redis)->text);
    return STOCK_UNREACHABLE;
}

enum stock_result stock_pg_failed(struct pg *pg)
{
    log_warn("redis-stock: %s", pg_error(pg)->text);
    return STOCK_UNREACHABLE;
}
