/*
 * redis-stock's external state: orders that wait in Redis, and mirrors.
 *
 * It is read and reset on the threads of dispatch's task pool, which have a session with PostgreSQL
 * and none with Redis, so one is lent to them (stock_lent.h). An order is looked for
 * in PostgreSQL, then here, and then in PostgreSQL once more, because it may have been decided in
 * between.
 */
#include "strategies/redis_stock/mirror/stock_external_state.h"

#include "base/clock.h"
#include "base/log.h"
#include "strategies/redis_stock/mirror/stock_mirror.h"
#include "strategies/redis_stock/mirror/stock_waiting.h"
#include "strategies/redis_stock/reserve/stock_reserve.h"
#include "strategies/redis_stock/stock_instance.h"
#include "strategy/session.h"

#include <stdio.h>

enum { TIMEOUT_US = 1000000, FIELD_MAX = 2 * STOCK_NUMBER_MAX, PIECE = 12 };

static int64_t soon(int64_t until_us)
{
    int64_t timeout_us = clock_mono_us() + TIMEOUT_US;

    return until_us < timeout_us ? until_us : timeout_us;
}

/* An order of a sale that a PUT has ended is gone, though it may stand in Redis a moment longer. */
static enum catalog_result in_epoch(struct pg *pg, const struct waiting_order *order,
                                    int64_t until_us, struct error *error)
{
    if (pg_exec(pg, SQL_PRODUCT_READ, PG_ARGS(pg_int8(order->product_id)), until_us) != PG_OK) {
        *error = *pg_error(pg);
        return CATALOG_FAILED;
    }
    bool same = pg_rows(pg) == 1 && pg_get_int8(pg, 0, 1) == order->epoch;
    return same ? CATALOG_OK : CATALOG_NOT_FOUND;
}

static enum catalog_result find_order(void *instance, struct pg *pg, const struct uuid *id,
                                      int64_t until_us, struct order_record *out,
                                      struct error *error)
{
    struct redis_stock *stock = instance;
    struct redis *redis = stock_lend(&stock->lent, TIMEOUT_US);
    struct stock_link link = {.settings = stock->services->settings,
                              .pg = pg,
                              .redis = redis,
                              .until_us = soon(until_us)};
    struct waiting_order order;
    char why[REDIS_WHY_MAX];

    enum stock_result found = STOCK_UNREACHABLE;
    if (redis) {
        stock_aim(&link, &stock->shards.at[stock_shard_of_id(&stock->shards, id)]);
        found = stock_waiting_find(&link, id, &order);
        stock_give_back(&stock->lent, redis);
    }
    if (found == STOCK_UNREACHABLE) {
        redis_server_why(stock->services->backends[BACKEND_STOCK_REDIS], why);
        error_set(error, ERROR_UNAVAILABLE, "Redis (--stock-redis): %s",
                  why[0] ? why : "no answer");
        return CATALOG_FAILED;
    }
    if (found == STOCK_ABSENT)
        return catalog_order(pg, id, until_us, out, error);
    waiting_record(&order, out);
    return in_epoch(pg, &order, until_us, error);
}

/* A few products' units in one HMGET; those of another shard are passed by. *at is behind them. */
static void add_units(struct stock_link *link, const struct stock_shards *shards,
                      struct product *products, int count, int *at)
{
    char units[STOCK_KEY_MAX];
    char fields[PIECE][FIELD_MAX];
    const char *arguments[PIECE + 2] = {"HMGET", units};
    struct product *asked[PIECE];
    struct redis_reply *reply;
    int n = 0;

    stock_key(link->shard, "units", -1, units);
    for (; *at < count && n < PIECE; (*at)++) {
        struct product *product = &products[*at];
        if (&shards->at[stock_shard_of(shards, product->id)] != link->shard)
            continue;
        snprintf(fields[n], FIELD_MAX, "%lld:%lld", (long long)product->id,
                 (long long)product->epoch);
        arguments[n + 2] = fields[n];
        asked[n++] = product;
    }
    if (n == 0)
        return;
    bool known = redis_call(link->redis, n + 2, arguments, link->until_us, &reply) == REDIS_OK;
    for (int i = 0; i < n; i++)
        if (!known)
            asked[i]->reserved = -1;
        else if (asked[i]->reserved >= 0)
            asked[i]->reserved += redis_reply_number(redis_reply_at(reply, i));
    redis_reply_free(reply);
}

static void add_reserved(void *instance, struct product *products, int count, int64_t until_us)
{
    struct redis_stock *stock = instance;
    struct redis *redis = stock_lend(&stock->lent, TIMEOUT_US);
    struct stock_link link = {
        .settings = stock->services->settings, .redis = redis, .until_us = soon(until_us)};

    for (int i = 0; !redis && i < count; i++)
        products[i].reserved = -1;
    for (int shard = 0; redis && shard < stock->shards.count; shard++) {
        stock_aim(&link, &stock->shards.at[shard]);
        for (int at = 0; at < count;)
            add_units(&link, &stock->shards, products, count, &at);
    }
    if (redis)
        stock_give_back(&stock->lent, redis);
}

/* Tries again, because a failed attempt of another thread keeps all from trying for a moment. */
static struct redis *lend_in_time(struct redis_stock *stock)
{
    int64_t until_us = clock_mono_us() + STOCK_SOON_US;
    struct redis *redis = stock_lend(&stock->lent, TIMEOUT_US);

    while (!redis && clock_mono_us() < until_us) {
        clock_sleep_until(clock_mono_us() + STOCK_PAUSE_US);
        redis = stock_lend(&stock->lent, TIMEOUT_US);
    }
    return redis;
}

static bool end_old_sale(struct redis_stock *stock, struct pg *pg, int64_t first, int64_t count,
                         int64_t until_us)
{
    struct redis *redis = lend_in_time(stock);
    struct stock_link link = {
        .settings = stock->services->settings, .pg = pg, .redis = redis, .until_us = until_us};
    enum stock_result result = STOCK_DONE;
    int64_t gone;

    if (!redis)
        return false;
    for (int64_t i = 0; result == STOCK_DONE && i < stock->shards.count && i < count; i++) {
        stock_aim(&link, &stock->shards.at[stock_shard_of(&stock->shards, first + i)]);
        result = count == 1 ? stock_mirror_load(&link, first, true, INT64_MAX)
                            : stock_mirror_forget_run(&link, first + i, count - i,
                                                      stock->shards.count, &gone);
    }
    stock_give_back(&stock->lent, redis);
    return result == STOCK_DONE || result == STOCK_ABSENT;
}

/* The mirrors of the sale that is over are unloaded; one product's is loaded again at once, a run's
 * by their first orders. Where Redis does not hear of it the old ones are still there: the writer
 * unloads them when it can, this instance asks the rows again before it sells from any, as does
 * whoever has a new session, and a reservation of the old sale gives its mirror away. */
static void start_sale(void *instance, struct pg *pg, int64_t first, int64_t count,
                       int64_t until_us)
{
    struct redis_stock *stock = instance;
    bool told = end_old_sale(stock, pg, first, count, until_us);

    if (!told)
        stock_flag_doubt(&stock->flag, clock_mono_us());
    for (int64_t i = 0; !told && i < count && i < MEND_MAX; i++)
        stock_mend_ask(&stock_work_of(stock, first + i)->mend, first + i);
    stock_flag_wait();
}

static void add_stock(void *instance, struct session *session, const int64_t *products, int count)
{
    struct redis_stock *stock = instance;
    int64_t until_us = clock_mono_us() + TIMEOUT_US;
    int64_t mirrored = 0;

    for (int i = 0; i < count; i++) {
        int64_t gone = 0;
        struct stock_link link = stock_link_in(stock, session, products[i]);
        link.until_us = until_us;
        bool told = redis_connect(session->stock, link.until_us);
        if (told && stock_mirror_forget(&link, products[i], &gone) != STOCK_DONE) {
            told = stock_mirror_forget_late(&link, products[i], clock_mono_us() + STOCK_SOON_US) ==
                   STOCK_DONE;
            gone = told; /* for all that is known */
        }
        if (!told)
            stock_mend_ask(&stock_work_of(stock, products[i])->mend, products[i]);
        mirrored += gone;
    }
    if (mirrored > 0)
        stock_flag_wait();
}

const struct external_state stock_external_state = {
    .order = find_order,
    .reserved = add_reserved,
    .sale_changed = start_sale,
    .stock_added = add_stock,
};
