/*
 * Asks the replicas for LOOK_US at a time, and PostgreSQL in between. A session with Redis that is
 * lost, or refuses, has shown nothing: from then on PostgreSQL alone is asked.
 */
#include "strategies/redis_stock/reserve/stock_replicas.h"

#include "base/clock.h"
#include "base/log.h"
#include "sale/purchase.h"
#include "strategies/redis_stock/reserve/stock_call.h"
#include "strategy/parking.h"

#include <string.h>

enum { LOOK_US = 20000 };

static bool repeats_queued(const struct order *order)
{
    return order->outcome == ORDER_REPLAYED && order->record.status == STATUS_QUEUED;
}

static int list_open(struct order **orders, int count, struct order *open[RESERVE_MAX])
{
    int n = 0;

    for (int i = 0; i < count; i++)
        if (orders[i]->outcome == ORDER_ACCEPTED || repeats_queued(orders[i]))
            open[n++] = orders[i];
    return n;
}

/* A repeat's order may be another instance's, reserved behind our last write: one of our own that
 * follows it is what the replicas have to have. */
static bool write_behind(struct redis *redis, const struct stock_shard *shard, struct order **open,
                         int count, int64_t until_us)
{
    char kept[STOCK_KEY_MAX];
    bool repeats = false;

    for (int i = 0; i < count; i++)
        repeats |= repeats_queued(open[i]);
    stock_key(shard, "kept", -1, kept);
    return !repeats ||
           redis_send(redis, 3, (const char *const[]){"SET", kept, ""}, until_us) == REDIS_OK;
}

/* "duplicate ID" names the first order with the key. */
static enum order_outcome outcome_of_reason(const char *reason)
{
    enum order_outcome refusal = order_refusal_of(reason);

    if (refusal != ORDER_PENDING)
        return refusal;
    return strncmp(reason, "duplicate", strlen("duplicate")) == 0 ? ORDER_KEY_TAKEN
                                                                  : ORDER_BACKEND_UNAVAILABLE;
}

/* The order of the result's row is decided. */
static void take_row(const struct pg *pg, int row, struct order *order)
{
    enum order_status status = (enum order_status)pg_get_int2(pg, row, 1);
    char reason[ORDER_REASON_MAX + 1];

    if (repeats_queued(order)) {
        order->outcome = ORDER_KEY_TAKEN; /* settle.c reads it */
    } else if (status == STATUS_FAILED) {
        pg_get_text(pg, row, 2, reason, sizeof reason);
        order->outcome = outcome_of_reason(reason);
    } else {
        order->hold_until_us = status == STATUS_PENDING ? pg_get_time(pg, row, 3) : 0;
        purchase_found(order, status);
    }
}

/* Takes the outcomes of those that PostgreSQL has. */
static void look(struct session *session, struct order **open, int count, int64_t until_us)
{
    struct pg *pg = session->pg;
    struct uuid ids[RESERVE_MAX];
    struct order *taken[RESERVE_MAX];
    int n = 0;

    for (int i = 0; i < count; i++)
        ids[i] = *parking_id(open[i]);
    if (!pg_connect(pg, until_us) ||
        pg_exec(pg, SQL_STOCK_DECIDED, PG_ARGS(pg_uuids(ids, count)), until_us) != PG_OK) {
        stock_pg_failed(pg);
        return;
    }
    for (int row = 0; row < pg_rows(pg); row++) {
        struct uuid id = pg_get_uuid(pg, row, 0);
        for (int i = 0; i < count; i++)
            if (uuid_equal(&ids[i], &id)) {
                take_row(pg, row, open[i]);
                taken[n++] = open[i];
            }
    }
    if (n == 0 || purchase_flush_read(session, taken[0], until_us))
        return;
    for (int i = 0; i < n; i++)
        taken[i]->outcome = ORDER_OUTCOME_UNKNOWN;
}

void stock_replicas_wait(struct session *session, const struct stock_shard *shard,
                         struct order **orders, int count, int64_t since_us, int64_t until_us)
{
    bool same = redis_since_us(session->stock) == since_us;
    struct redis *redis = redis_last(session->stock);
    struct order *open[RESERVE_MAX];
    int n = list_open(orders, count, open);
    bool enough = false;

    if (n == 0 || redis_server_replicas(redis_server_of(redis)) == 0)
        return;
    bool asks = same && write_behind(redis, shard, open, n, until_us);
    for (;;) {
        int64_t look_us = clock_mono_us() + LOOK_US;
        if (asks)
            asks = redis_wait_replicas(redis, look_us, &enough) == REDIS_OK;
        else
            clock_sleep_until(look_us);
        if (enough)
            return;
        look(session, open, n, until_us);
        n = list_open(open, n, open);
        if (n == 0)
            return;
        if (clock_mono_us() >= until_us)
            break;
    }
    log_warn("redis-stock: what became of %d orders is unknown: too few replicas have them in "
             "time, and PostgreSQL has not: %s",
             n, asks ? "the replicas lag" : redis_error(redis)->text);
    for (int i = 0; i < n; i++)
        open[i]->outcome = ORDER_OUTCOME_UNKNOWN;
}
