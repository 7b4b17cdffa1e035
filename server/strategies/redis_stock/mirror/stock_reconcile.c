/*
 * A step scans some of the loaded products. A look without a lock finds most of them at rest and in
 * order; only what differs is looked at again under the row's lock, and then mended. A store that
 * is out of reach ends the step, and the next round begins at the first product.
 */
#include "strategies/redis_stock/mirror/stock_reconcile.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_PRODUCTS "64"

void stock_round_begin(struct stock_round *round)
{
    *round = (struct stock_round){.cursor = "0"};
}

/* The row's stock and epoch; the first statement that locks opens a transaction. STOCK_STALE:
 * somebody holds the row, and it can only be looked at another time. */
static enum stock_result read_row(struct stock_link *link, int64_t product_id, enum sql statement,
                                  int64_t *stock, int64_t *epoch)
{
    enum pg_status status =
        pg_exec(link->pg, statement, PG_ARGS(pg_int8(product_id)), link->until_us);

    if (status == PG_BUSY)
        return STOCK_STALE;
    if (status != PG_OK) {
        log_warn("redis-stock: %s", pg_error(link->pg)->text);
        return STOCK_UNREACHABLE;
    }
    if (pg_rows(link->pg) == 0)
        return STOCK_ABSENT;
    *stock = pg_get_int8(link->pg, 0, 0);
    *epoch = pg_get_int8(link->pg, 0, 1);
    return STOCK_DONE;
}

/* What one comparison said. */
struct finding {
    int64_t drift;  /* by how much the mirror is too high */
    bool stale;     /* it is of an ended sale */
    bool rest;      /* nothing is reserved, so the drift can be told */
    bool untouched; /* nothing was ever reserved from it */
};

static enum stock_result compare(struct stock_link *link, int64_t product_id, enum sql statement,
                                 struct finding *out)
{
    struct stock_look look = {.loaded = false};
    int64_t stock = 0;
    int64_t epoch = 0;
    enum stock_result result = read_row(link, product_id, statement, &stock, &epoch);

    *out = (struct finding){.drift = 0};
    if (result == STOCK_DONE)
        result = stock_mirror_look(link, product_id, &look);
    if (result != STOCK_DONE || !look.loaded)
        return result;
    out->stale = look.epoch != epoch;
    out->rest = !out->stale && look.units == 0;
    out->untouched = look.untouched;
    if (out->rest)
        out->drift = look.stock - stock;
    return STOCK_DONE;
}

bool stock_reconcile_agrees(struct stock_link *link, int64_t product_id)
{
    struct finding found;

    return compare(link, product_id, SQL_PRODUCT_READ, &found) == STOCK_DONE && found.rest &&
           found.drift == 0;
}

/* Under the row's lock a commit cannot come between the two figures. Nobody waits for it here: what
 * other products' buyers wait for would wait, too. */
static enum stock_result confirm(struct stock_link *link, int64_t product_id, struct finding *out)
{
    pg_begin(link->pg);
    enum stock_result result = compare(link, product_id, SQL_PRODUCT_LOCK_NOWAIT, out);
    pg_rollback(link->pg, link->until_us);
    return result;
}

static enum stock_result mend(struct stock_link *link, struct stock_round *round,
                              int64_t product_id, const struct finding *found)
{
    int64_t gone;

    /* Another strategy has sold from the row, and nobody from the mirror: nothing has gone wrong.
     */
    if (!found->untouched && !found->stale) {
        log_info("redis-stock: product %lld: Redis was off by %lld, unloaded",
                 (long long)product_id, (long long)found->drift);
        round->drift += found->drift < 0 ? -found->drift : found->drift;
        round->rebuilt++;
    }
    return stock_mirror_forget(link, product_id, 1, &gone);
}

static enum stock_result reconcile(struct stock_link *link, struct stock_round *round,
                                   int64_t product_id)
{
    struct finding found;
    int64_t gone;

    stock_give_time(link);
    round->products++;
    enum stock_result result = compare(link, product_id, SQL_PRODUCT_READ, &found);
    if (result == STOCK_DONE && (found.drift != 0 || found.stale))
        result = confirm(link, product_id, &found);
    if (result == STOCK_ABSENT)
        return stock_mirror_forget(link, product_id, 1, &gone);
    if (result == STOCK_DONE && !found.rest)
        round->skipped++;
    if (result == STOCK_DONE && (found.drift != 0 || found.stale))
        result = mend(link, round, product_id, &found);
    if (result == STOCK_STALE || result == STOCK_HELD) {
        round->skipped++;
        result = STOCK_DONE;
    }
    return result;
}

enum stock_result stock_round_step(struct stock_link *link, struct stock_round *round)
{
    char loaded[STOCK_KEY_MAX];
    struct redis_reply *reply;
    enum stock_result result = STOCK_DONE;

    stock_key(link->settings, "loaded", -1, loaded);
    stock_give_time(link);
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
