/*
 * A step scans some of the loaded products. A look without a lock finds most of them at rest and in
 * order; only what differs is looked at again under the row's lock, and then mended. Not a mirror
 * from which nobody has reserved: another strategy sells that product, and needs its row. A store
 * that is out of reach ends the step, and the next round begins at the first product.
 */
#include "strategies/redis_stock/mirror/stock_reconcile.h"

#include "base/clock.h"
#include "base/log.h"
#include "strategies/redis_stock/mirror/stock_waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_PRODUCTS "64"

/* Between COMMIT and acknowledgement, and between the commit of a cancel and its correction:
 * another instance's, for our own writer is here. */
enum { UNACKNOWLEDGED_US = 100000, UNACKNOWLEDGED_LOOK_US = 5000 };

void stock_round_begin(struct stock_round *round)
{
    *round = (struct stock_round){.entries = "0", .cursor = "0"};
}

/* STOCK_STALE: somebody holds the row, and it can only be looked at another time. */
static enum stock_result ask_row(struct stock_link *link, int64_t product_id, enum sql statement)
{
    enum pg_status status =
        pg_exec(link->pg, statement, PG_ARGS(pg_int8(product_id)), link->until_us);

    if (status == PG_BUSY)
        return STOCK_STALE;
    if (status != PG_OK)
        return stock_pg_failed(link->pg);
    return pg_rows(link->pg) == 0 ? STOCK_ABSENT : STOCK_DONE;
}

/* What one comparison said. */
struct finding {
    int64_t drift;  /* the mirror is too high by so much; or that is committed, not acknowledged */
    bool stale;     /* it is of an ended sale */
    bool rest;      /* nothing is reserved */
    bool untouched; /* nothing was ever reserved from it */
    struct stock_look look;
};

static enum stock_result compare(struct stock_link *link, int64_t product_id, struct finding *out)
{
    struct stock_look look = {.loaded = false};
    enum stock_result result = ask_row(link, product_id, SQL_STOCK_ROW);

    *out = (struct finding){.drift = 0};
    if (result == STOCK_DONE)
        result = stock_mirror_look(link, product_id, &look);
    if (result != STOCK_DONE || !look.loaded)
        return result;
    out->stale = look.epoch != pg_get_int8(link->pg, 0, 1);
    out->rest = !out->stale && look.units == 0;
    out->untouched = look.untouched;
    out->look = look;
    if (!out->stale)
        out->drift = look.stock + look.units - pg_get_int8(link->pg, 0, 0);
    return STOCK_DONE;
}

bool stock_reconcile_agrees(struct stock_link *link, int64_t product_id)
{
    struct finding found;

    return compare(link, product_id, &found) == STOCK_DONE && found.rest && found.drift == 0;
}

/* Too high, it seems, while something is reserved: some of it may be committed by a writer that has
 * died since. Only orders without a row count as reserved; if more was reserved meanwhile, the next
 * round looks again.
 */
static enum stock_result subtract_decided(struct stock_link *link, int64_t product_id,
                                          struct finding *out)
{
    struct stock_reservations undecided = {0};
    struct finding again;
    enum stock_result result =
        stock_waiting_undecided(link, product_id, out->look.epoch, &undecided);

    if (result == STOCK_DONE)
        result = compare(link, product_id, &again);
    if (result == STOCK_DONE && again.look.stock == out->look.stock)
        out->drift += undecided.units - out->look.units;
    else
        out->drift = 0;
    free(undecided.items);
    return result;
}

/* Under the row's lock no commit comes, and what was committed before is acknowledged in a moment.
 * Nobody waits for the row here: what other products' buyers wait for would wait, too. */
static enum stock_result confirm(struct stock_link *link, int64_t product_id, struct finding *out)
{
    pg_begin(link->pg);
    enum stock_result result = ask_row(link, product_id, SQL_PRODUCT_LOCK_NOWAIT);
    if (result == STOCK_DONE)
        result = compare(link, product_id, out);
    int64_t until_us = clock_mono_us() + UNACKNOWLEDGED_US;
    while (result == STOCK_DONE && out->drift != 0 && clock_mono_us() < until_us) {
        clock_sleep_until(clock_mono_us() + UNACKNOWLEDGED_LOOK_US);
        result = compare(link, product_id, out);
    }
    if (result == STOCK_DONE && out->drift > 0 && !out->rest)
        result = subtract_decided(link, product_id, out);
    pg_rollback(link->pg, link->until_us);
    return result;
}

/* Another strategy has sold from the row, and nobody from the mirror: nothing has gone wrong. */
static bool is_unused(const struct finding *found)
{
    return found->untouched && !found->stale;
}

static enum stock_result mend(struct stock_link *link, struct stock_round *round,
                              int64_t product_id, const struct finding *found)
{
    int64_t gone;

    if (!is_unused(found) && !found->stale) {
        log_info("redis-stock: product %lld: Redis was off by %lld, unloaded",
                 (long long)product_id, (long long)found->drift);
        round->drift += found->drift < 0 ? -found->drift : found->drift;
        round->rebuilt++;
    }
    return stock_mirror_forget(link, product_id, &gone);
}

static enum stock_result reconcile(struct stock_link *link, struct stock_round *round,
                                   int64_t product_id)
{
    struct finding found;
    int64_t gone;

    stock_give_time(link);
    round->products++;
    enum stock_result result = compare(link, product_id, &found);
    if (result == STOCK_DONE && (found.drift != 0 || found.stale) &&
        !(is_unused(&found) && found.rest))
        result = confirm(link, product_id, &found);
    if (result == STOCK_ABSENT)
        return stock_mirror_forget(link, product_id, &gone);
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

static bool is_over(const char *cursor)
{
    return strcmp(cursor, "0") == 0;
}

static enum stock_result reconcile_some(struct stock_link *link, struct stock_round *round)
{
    char loaded[STOCK_KEY_MAX];
    struct redis_reply *reply;
    enum stock_result result = STOCK_DONE;

    stock_key(link->shard, "loaded", -1, loaded);
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

enum stock_result stock_round_step(struct stock_link *link, struct stock_round *round, bool *over)
{
    bool restoring = !round->restored;

    stock_give_time(link);
    enum stock_result result =
        restoring ? stock_waiting_restore(link, round->entries) : reconcile_some(link, round);
    round->restored = is_over(round->entries);
    *over = !restoring && is_over(round->cursor);
    return result;
}
