/* See held.h. A short list: where more rows are held than it has places, the one that is due first
 * makes room, and is waited for as if for the first time. */
#include "sale/decide_many/held.h"

#include "base/clock.h"

#include <stdio.h>

enum {
    PATIENCE_FIRST_US = 25000,
    PATIENCE_MOST_US = 400000,
    REST_OF_ALL = 4, /* times as long as it was waited in vain: no row is waited for */
    REST_OF_ONE = 9, /* nor this one */
    ORDER_WAIT_MS = PURCHASE_FEWER_WAIT_MS,
    ORDER_REST_US = 500000
};

/* Its place in the list; -1: it has none. */
static int find(const struct held *held, int64_t product_id)
{
    for (int i = 0; i < held->count; i++)
        if (held->rows[i].product_id == product_id)
            return i;
    return -1;
}

static int make_room(struct held *held)
{
    int first = 0;

    if (held->count < HELD_MAX)
        return held->count++;
    for (int i = 1; i < HELD_MAX; i++)
        if (held->rows[i].due_us < held->rows[first].due_us)
            first = i;
    return first;
}

bool held_is(const struct held *held, int64_t product_id)
{
    return find(held, product_id) >= 0;
}

/* When the row may be waited for again; 0: it was never waited for in vain. */
static int64_t due_us(const struct held *held, int64_t product_id)
{
    int i = find(held, product_id);

    return i >= 0 ? held->rows[i].due_us : 0;
}

int64_t held_patience_us(const struct held *held, int64_t product_id)
{
    int i = find(held, product_id);
    int64_t now_us = clock_mono_us();

    if (now_us < held->due_us || now_us < due_us(held, product_id))
        return 0;
    return i >= 0 ? held->rows[i].patience_us : PATIENCE_FIRST_US;
}

int64_t held_choose(const struct held *held, int64_t chosen, int64_t product_id)
{
    if (product_id == chosen || held_patience_us(held, product_id) == 0)
        return chosen;
    return chosen == 0 || due_us(held, product_id) < due_us(held, chosen) ? product_id : chosen;
}

/* It was waited for that long, in vain. */
static void failed(struct held *held, int64_t product_id, int64_t patience_us)
{
    int i = find(held, product_id);
    int64_t now_us = clock_mono_us();

    if (i < 0)
        i = make_room(held);
    held->rows[i] = (struct held_row){
        .product_id = product_id,
        .patience_us = 2 * patience_us < PATIENCE_MOST_US ? 2 * patience_us : PATIENCE_MOST_US,
        .due_us = now_us + REST_OF_ONE * patience_us,
    };
    held->due_us = now_us + REST_OF_ALL * patience_us;
}

static void forget(struct held *held, int64_t product_id)
{
    int i = find(held, product_id);

    if (i >= 0)
        held->rows[i] = held->rows[--held->count];
}

void held_note(struct held *held, const struct tally *tally)
{
    for (int i = 0; i < tally->products.count; i++)
        if (!tally->busy[i])
            forget(held, tally->products.a[i]);
}

void held_limit(struct pg *pg)
{
    pg_lock_until(pg, INT64_MAX, ORDER_WAIT_MS);
}

static int find_order(const struct held *held, const struct uuid *id)
{
    int i = 0;

    while (i < held->orders_count && !uuid_equal(&held->orders[i].id, id))
        i++;
    return i;
}

static void rest(struct held *held, const struct uuid *id, int64_t now_us)
{
    int at = find_order(held, id);

    for (int i = 0; at == held->orders_count && i < held->orders_count; i++)
        if (held->orders[i].due_us <= now_us)
            at = i;
    if (at == HELD_MAX)
        at = 0; /* it is tried too early, no more */
    if (at == held->orders_count)
        held->orders_count++;
    held->orders[at] = (struct held_order){*id, now_us + ORDER_REST_US};
}

void held_waited(struct held *held, const struct uuid *id)
{
    int64_t now_us = clock_mono_us();

    if (held->look_us < now_us)
        held->look_us = now_us;
    held->look_us += (int64_t)REST_OF_ALL * ORDER_WAIT_MS * CLOCK_US_PER_MS;
    if (id)
        rest(held, id, now_us);
}

bool held_rests(const struct held *held, const struct uuid *id)
{
    int i = find_order(held, id);

    return i < held->orders_count && clock_mono_us() < held->orders[i].due_us;
}

static enum pg_status wait_at_most(struct pg *pg, int64_t ms, int64_t until_us)
{
    char text[32];

    snprintf(text, sizeof text, "%lldms", (long long)ms);
    return pg_exec(pg, SQL_LOCK_WITHIN, PG_ARGS(pg_text(text)), until_us);
}

enum pg_status held_wait(struct held *held, struct pg *pg, int64_t product_id, int64_t until_us)
{
    int64_t patience_us = held_patience_us(held, product_id);
    enum pg_status status =
        patience_us == 0 ? PG_BUSY : wait_at_most(pg, patience_us / CLOCK_US_PER_MS, until_us);

    if (status != PG_OK)
        return status;
    status = pg_exec(pg, SQL_PRODUCT_LOCK, PG_ARGS(pg_int8(product_id)), until_us);
    if (status == PG_BUSY)
        failed(held, product_id, patience_us);
    if (status != PG_OK)
        return status;
    forget(held, product_id);
    return wait_at_most(pg, ORDER_WAIT_MS, until_us);
}

/* In a transaction of its own, which stays open when the row was had. */
static enum pg_status stand_in_line(struct held *held, struct pg *pg, int64_t product_id,
                                    int64_t until_us)
{
    if (held_patience_us(held, product_id) == 0)
        return PG_BUSY;
    pg_begin(pg);
    enum pg_status status = held_wait(held, pg, product_id, until_us);
    if (status != PG_OK)
        pg_rollback(pg, until_us);
    return status;
}

enum pg_status held_take(struct held *held, struct pg *pg, int64_t product_id, int64_t until_us)
{
    pg_begin(pg);
    enum pg_status status =
        pg_exec(pg, SQL_PRODUCT_LOCK_NOWAIT, PG_ARGS(pg_int8(product_id)), until_us);
    if (status == PG_OK) {
        forget(held, product_id);
        return status;
    }
    pg_rollback(pg, until_us);
    return status == PG_BUSY ? stand_in_line(held, pg, product_id, until_us) : status;
}

int64_t held_find_free(struct held *held, struct pg *pg, const int64_t *products, int count,
                       int64_t until_us)
{
    int64_t chosen = 0;

    if (clock_mono_us() < held->look_us ||
        pg_exec(pg, SQL_BATCH_FIND_FREE, PG_ARGS(pg_int8s(products, count)), until_us) != PG_OK)
        return 0;
    if (pg_rows(pg) > 0)
        return pg_get_int8(pg, 0, 0);
    for (int i = 0; i < count; i++)
        chosen = held_choose(held, chosen, products[i]);
    if (chosen == 0 || stand_in_line(held, pg, chosen, until_us) != PG_OK)
        return 0;
    pg_rollback(pg, until_us);
    return chosen;
}
