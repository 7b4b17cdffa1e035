#include "strategy/stock_reconcile.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_PRODUCTS "64"

void stock_round_begin(struct stock_round *round)
{
    *round = (struct stock_round){.cursor = "0"};
}

/* The row's stock and epoch; the first statement that locks opens a transaction. */
static enum stock_result read_row(struct stock_link *link, int64_t product_id, enum sql statement,
                                  int64_t *stock, int64_t *epoch)
{
    if (pg_exec(link->pg, statement, PG_ARGS(pg_int8(product_id)), link->until_us) != PG_OK) {
        log_warn("redis-stock: %s", pg_error(link->pg)->text);
        return STOCK_UNREACHABLE;
    }
    if (pg_rows(link->pg) == 0)
        return STOCK_ABSENT;
    *stock = pg_get_int8(link->pg, 0, 0);
    *epoch = pg_get_int8(link->pg, 0, 1);
    return STOCK_DONE;
}

/* By how much the mirror is too high; 0 also while that cannot be said (*rest false). */
static enum stock_result compare(struct stock_link *link, int64_t product_id, enum sql statement,
                                 int64_t *drift, bool *stale, bool *rest)
{
    struct stock_look look;
    int64_t stock = 0;
    int64_t epoch = 0;
    enum stock_result result = read_row(link, product_id, statement, &stock, &epoch);

    *drift = 0;
    *stale = *rest = false;
    if (result == STOCK_DONE)
        result = stock_mirror_look(link, product_id, &look);
    if (result != STOCK_DONE || !look.loaded)
        return result;
    *stale = look.epoch != epoch;
    *rest = !*stale && look.units == 0;
    if (*rest)
        *drift = look.stock - stock;
    return STOCK_DONE;
}

/* Under the row's lock a commit cannot come between the two figures. */
static enum stock_result confirm(struct stock_link *link, int64_t product_id, int64_t *drift,
                                 bool *stale)
{
    bool rest;

    pg_begin(link->pg);
    enum stock_result result = compare(link, product_id, SQL_PRODUCT_LOCK, drift, stale, &rest);
    pg_rollback(link->pg, link->until_us);
    return result;
}

static enum stock_result reconcile(struct stock_link *link, struct stock_round *round,
                                   int64_t product_id)
{
    int64_t drift = 0;
    bool stale = false;
    bool rest = false;

    link->until_us = clock_mono_us() + link->settings->work_timeout_ms * CLOCK_US_PER_MS;
    round->products++;
    enum stock_result result = compare(link, product_id, SQL_PRODUCT_READ, &drift, &stale, &rest);
    if (result == STOCK_DONE && (drift != 0 || stale))
        result = confirm(link, product_id, &drift, &stale);
    else
        round->skipped += !rest;
    if (result == STOCK_ABSENT) {
        int64_t gone;
        return stock_mirror_forget(link, product_id, 1, &gone);
    }
    if (result != STOCK_DONE || (drift == 0 && !stale))
        return result;
    if (drift != 0)
        log_info("redis-stock: product %lld: Redis was off by %lld, built anew",
                 (long long)product_id, (long long)drift);
    round->drift += drift < 0 ? -drift : drift;
    round->rebuilt++;
    return stock_mirror_load(link, product_id, true);
}

enum stock_result stock_round_step(struct stock_link *link, struct stock_round *round)
{
    char loaded[STOCK_KEY_MAX];
    struct redis_reply *reply;
    enum stock_result result = STOCK_DONE;

    stock_key(link->settings, "loaded", -1, loaded);
    link->until_us = clock_mono_us() + link->settings->work_timeout_ms * CLOCK_US_PER_MS;
    if (redis_call(link->redis, 5,
                   (const char *const[]){"SSCAN", loaded, round->cursor, "COUNT", STEP_PRODUCTS},
                   link->until_us, &reply) != REDIS_OK)
        return stock_redis_failed(link->redis);
    const struct redis_reply *products = redis_reply_at(reply, 1);
    for (int i = 0; result == STOCK_DONE && i < redis_reply_count(products); i++)
        result = reconcile(link, round, redis_reply_number(redis_reply_at(products, i)));
    const char *next = redis_reply_text(redis_reply_at(reply, 0));
    snprintf(round->cursor, sizeof round->cursor, "%s", next ? next : "0");
    redis_reply_free(reply);
    return result;
}
