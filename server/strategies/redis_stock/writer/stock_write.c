/*
 * One statement for the usual claims (at_once), one transaction for others (transact), in a loop: a
 * conflict is decided anew, a refusal or a wait in vain halves the claims, a store out of reach
 * leaves them open for later. Then those that are held are written once more, behind the one row
 * that may be waited for. Deciding is stock_decide.c's.
 */
#include "strategies/redis_stock/writer/stock_write.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "postgres/fast_path.h"
#include "sale/decide_many/columns.h"
#include "sale/decide_many/held.h"
#include "sale/purchase.h"
#include "strategies/redis_stock/mirror/stock_mirror.h"
#include "strategies/redis_stock/writer/stock_decide.h"

#include <stdio.h>
#include <string.h>

enum {
    CONFLICTS_MAX = 20,
    REFUSALS_MAX = 3,
    TROUBLES_MAX = 24, /* what it takes to find two orders of a thousand */
    PAUSE_US = 10000
};

static _Thread_local struct held held; /* the writer is one thread */

/* The rows of the claims that are decided, and have none. */
static void list_orders(const struct work *work, struct order_columns *to)
{
    columns_init(to);
    for (int i = 0; i < work->count; i++) {
        const struct claim *claim = &work->claims[i];
        const struct waiting_order *order = &claim->order;
        bool failed = claim->fate == CLAIM_REFUSED || claim->fate == CLAIM_POISON ||
                      claim->fate == CLAIM_LOST;
        if (failed || claim->fate == CLAIM_CONFIRMED)
            columns_add(to, &(struct order_row){order->id, order->product_id, order->epoch,
                                                order->user_id, order->quantity, order->created_us,
                                                claim->hold_until_us, order->key,
                                                failed ? claim->reason : NULL});
    }
}

/* All, but for those that have waited in vain a moment ago. */
static void open_all(struct work *work)
{
    for (int i = 0; i < work->count; i++)
        work->claims[i].fate =
            held_rests(&held, &work->claims[i].order.id) ? CLAIM_LOCKED : CLAIM_OPEN;
}

static enum pg_status write_and_commit(struct work *work)
{
    struct order_columns orders;

    list_orders(work, &orders);
    FAILPOINT("stock-writer-committing");
    return columns_commit(&orders, &work->tally, work->link->strategy);
}

/* Nobody had them, all are of one sale, and no order wants anything besides. */
static bool may_be_one_statement(const struct work *work)
{
    const struct waiting_order *first = &work->claims[0].order;

    for (int i = 0; i < work->count; i++) {
        const struct waiting_order *order = &work->claims[i].order;
        if (order->key[0] || purchase_asks_hold(work->link->settings, order->hold_s) ||
            order->product_id != first->product_id || order->epoch != first->epoch ||
            work->claims[i].fate != CLAIM_OPEN)
            return false;
    }
    return work->fresh && fast_path_fits(work->link->pg, first->product_id) &&
           !held_is(&held, first->product_id);
}

/* PG_OK: all are sold, or, when they are still open, nothing is decided. */
static enum pg_status at_once(struct work *work)
{
    struct order_columns to;

    for (int i = 0; i < work->count; i++) {
        work->claims[i].fate = CLAIM_CONFIRMED;
        work->claims[i].hold_until_us = 0;
    }
    list_orders(work, &to);
    FAILPOINT("stock-writer-committing");
    enum pg_status status =
        columns_buy(&to, work->link->pg, work->link->strategy, 0, work->link->until_us);
    if (status != PG_OK || pg_affected(work->link->pg) == 0)
        open_all(work);
    return status;
}

/* The whole transaction, up to and with the COMMIT. It waits for the row of `product_id` alone, if
 * that is not 0. */
static enum pg_status transact(struct work *work, int64_t product_id)
{
    struct pg *pg = work->link->pg;

    pg_begin(pg);
    enum pg_status status = decide_lock(work, &held, product_id);
    if (status == PG_OK && !work->fresh)
        status = decide_known(work);
    if (status == PG_OK && work->lost)
        decide_lost(work);
    else if (status == PG_OK)
        status = decide_all(work);
    if (status == PG_OK)
        status = tally_write_shares(&work->tally);
    if (status == PG_OK)
        status = write_and_commit(work);
    if (status != PG_OK) {
        pg_rollback(pg, work->link->until_us);
        open_all(work);
    } else {
        held_note(&held, &work->tally);
    }
    return status;
}

/* A lost COMMIT needs no settling: the claims are written again, and those that are there are
 * known. */
static enum pg_status attempt(struct work *work)
{
    open_all(work);
    if (may_be_one_statement(work)) {
        enum pg_status status = at_once(work);
        if (status != PG_OK || work->claims[0].fate == CLAIM_CONFIRMED)
            return status;
    }
    return transact(work, 0);
}

/* Writes this one as failed, `unwritable`. PG_OK: it has its fate, or its row is held by somebody;
 * else nothing is done. */
static enum pg_status write_poison(struct stock_link *link, struct claim *claim)
{
    struct work work;
    char id[UUID_TEXT_LENGTH + 1];

    work.link = link;
    work.claims = claim;
    work.count = 1;
    stock_give_time(link);
    if (!pg_connect(link->pg, link->until_us) ||
        stock_mirror_generation(link, claim->order.product_id, claim->generation) != STOCK_DONE)
        return PG_LOST;
    pg_begin(link->pg);
    enum pg_status status = decide_lock(&work, &held, 0);
    bool is_held = status == PG_OK && claim->fate == CLAIM_HELD;
    if (status == PG_OK && !is_held)
        status = decide_known(&work);
    if (status == PG_OK && claim->fate == CLAIM_OPEN) {
        claim->fate = decide_ended(&work, 0) ? CLAIM_ENDED : CLAIM_POISON;
        snprintf(claim->reason, sizeof claim->reason, "unwritable");
    }
    if (status == PG_OK && !is_held)
        status = write_and_commit(&work);
    if (status == PG_OK && !is_held) {
        uuid_format(&claim->order.id, id);
        log_error("order %s: unwritable", id);
        return PG_OK;
    }
    pg_rollback(link->pg, link->until_us);
    if (!is_held)
        claim->fate = CLAIM_OPEN;
    return status;
}

static bool write_range(struct work *work, struct claim *claims, int count);

/* PostgreSQL has refused the transaction as it is. */
static bool split(struct work *work, struct claim *claims, int count)
{
    int half = count / 2;
    bool left = write_range(work, claims, half);
    bool right = write_range(work, claims + half, count - half);

    return left && right;
}

/* It speaks of the server, and may be over in a moment. */
static bool is_trouble(enum pg_status status)
{
    return !pg_blames_rows(status) && status != PG_CONFLICT;
}

/* Leaves open what cannot be done now. */
static bool give_way(struct work *work, enum pg_status status, struct claim *claims, int count)
{
    bool reached = status != PG_TIMEOUT && status != PG_LOST;

    if (work->troubles == 0)
        log_warn("redis-stock: %s", pg_error(work->link->pg)->text);
    work->troubles += reached ? 1 : TROUBLES_MAX;
    return count > 1 && work->troubles < TROUBLES_MAX && split(work, claims, count);
}

/* Waited in vain for a lock that one of them needs: that one is found, and left for later. */
static bool part(struct work *work, struct claim *claims, int count)
{
    work->waits++;
    if (count > 1) {
        held_waited(&held, NULL);
        return split(work, claims, count);
    }
    held_waited(&held, &claims->order.id);
    claims->fate = CLAIM_LOCKED;
    return true;
}

static bool write_range(struct work *work, struct claim *claims, int count)
{
    struct stock_link *link = work->link;
    int refusals = 0;

    for (int tries = 0; tries < CONFLICTS_MAX && work->troubles < TROUBLES_MAX; tries++) {
        if (work->waits >= HELD_WAITS_MAX) {
            for (int i = 0; i < count; i++)
                claims[i].fate = CLAIM_HELD;
            return true;
        }
        work->claims = claims;
        work->count = count;
        stock_give_time(link);
        enum pg_status status = pg_connect(link->pg, link->until_us) ? attempt(work) : PG_LOST;
        if (status == PG_OK)
            return true;
        if (status == PG_WITHHELD)
            log_warn("redis-stock: %d orders wait: %s", count, pg_error(link->pg)->text);
        if (status == PG_BUSY || status == PG_WITHHELD)
            return part(work, claims, count);
        if (is_trouble(status))
            return give_way(work, status, claims, count);
        if (pg_blames_rows(status) && !work->fresh) {
            log_warn("redis-stock: PostgreSQL refuses %d orders: %s", count,
                     pg_error(link->pg)->text);
            if (count > 1)
                return split(work, claims, count);
            if (++refusals == REFUSALS_MAX) {
                status = write_poison(link, claims);
                return status == PG_BUSY || status == PG_WITHHELD ? part(work, claims, count)
                                                                  : status == PG_OK;
            }
        }
        work->fresh = false; /* somebody may have been here all the same */
        clock_sleep_until(clock_mono_us() + PAUSE_US);
    }
    return false;
}

/* Writes those that are held once more. False: PostgreSQL is out of reach. */
static bool write_held(struct work *work, struct claim *claims, int count)
{
    static _Thread_local struct claim again[WRITE_MAX];
    int from[WRITE_MAX];
    int64_t product_id = 0;
    int n = 0;

    for (int i = 0; i < count; i++)
        if (claims[i].fate == CLAIM_HELD) {
            product_id = held_choose(&held, product_id, claims[i].order.product_id);
            from[n] = i;
            again[n++] = claims[i];
        }
    if (product_id == 0 || work->waits >= HELD_WAITS_MAX)
        return true;
    work->claims = again;
    work->count = n;
    open_all(work);
    stock_give_time(work->link);
    if (!pg_connect(work->link->pg, work->link->until_us))
        return false;
    enum pg_status status = transact(work, product_id);
    /* In vain; or one of them waits for another lock, and is to be found. */
    if (status == PG_BUSY || status == PG_WITHHELD)
        status = write_range(work, again, n) ? PG_OK : PG_FAILED;
    for (int i = 0; status == PG_OK && i < n; i++)
        claims[from[i]] = again[i];
    return status != PG_TIMEOUT && status != PG_LOST; /* after anything else they are still held */
}

static bool write_all(struct stock_link *link, struct claim *claims, int count, bool fresh,
                      bool lost)
{
    static _Thread_local struct work work;

    work.link = link;
    work.fresh = fresh;
    work.lost = lost;
    work.troubles = work.waits = 0;
    if (count == 0)
        return true;
    bool done = write_range(&work, claims, count);
    return write_held(&work, claims, count) && done;
}

bool stock_write(struct stock_link *link, struct claim *claims, int count, bool fresh)
{
    return write_all(link, claims, count, fresh, false);
}

bool stock_write_lost(struct stock_link *link, struct claim *claims, int count)
{
    return write_all(link, claims, count, false, true);
}

bool stock_write_finds_free(struct stock_link *link, const int64_t *products, int count)
{
    stock_give_time(link);
    return pg_connect(link->pg, link->until_us) &&
           held_find_free(&held, link->pg, products, count, link->until_us) > 0;
}
