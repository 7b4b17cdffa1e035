#include "strategies/redis_stock/stock_lease.h"

#include "base/clock.h"
#include "strategies/redis_stock/stock_link.h"

#include <stdio.h>

#define STOCK_LEASE_MS "10000"
enum { LOOK_US = 500000, TIMEOUT_US = 1000000, WORDS_MAX = 2 * STORE_MARK_SIZE + 192 };

bool stock_lease_init(struct stock_lease *lease, const struct services *services,
                      struct error *error)
{
    *lease = (struct stock_lease){.services = services,
                                  .redis = redis_create(services->backends[BACKEND_STOCK_REDIS])};
    if (!lease->redis)
        return error_set(error, ERROR_INTERNAL, "out of memory");
    random_token(lease->instance);
    stock_lease_keep(lease);
    return true;
}

void stock_lease_fini(struct stock_lease *lease)
{
    redis_destroy(lease->redis);
}

/* False: Redis did not answer. */
static bool ask(struct stock_lease *lease, const char *mark, char other[STORE_MARK_SIZE])
{
    int64_t until_us = clock_mono_us() + TIMEOUT_US;
    char leases[STOCK_KEY_MAX];
    struct redis_reply *reply;

    stock_key(lease->services->settings, "leases", -1, leases);
    if (!redis_connect(lease->redis, until_us) ||
        redis_eval(lease->redis, LUA_STOCK_LEASE, 1, 4,
                   (const char *const[]){leases, lease->instance, mark, STOCK_LEASE_MS}, until_us,
                   &reply) != REDIS_OK)
        return false;
    const char *text = redis_reply_text(reply);
    snprintf(other, STORE_MARK_SIZE, "%s", text ? text : "");
    redis_reply_free(reply);
    return true;
}

void stock_lease_keep(struct stock_lease *lease)
{
    char mark[STORE_MARK_SIZE];
    char other[STORE_MARK_SIZE];
    char words[WORDS_MAX] = "";

    if (clock_mono_us() < lease->look_at_us)
        return;
    lease->look_at_us = clock_mono_us() + LOOK_US;
    store_mark(services_store(lease->services), mark);
    if (!*mark || !ask(lease, mark, other))
        return;
    if (*other)
        snprintf(words, sizeof words,
                 "under the name %s it is database %s's, and this is %s: give one of them another "
                 "--system-name, or another database of a Redis (--stock-redis)",
                 lease->services->settings->system_name, other, mark);
    redis_server_take(lease->redis, words);
}

void stock_lease_give_back(struct stock_lease *lease)
{
    char nobody[STORE_MARK_SIZE];

    ask(lease, "", nobody);
}
