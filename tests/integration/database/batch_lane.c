/* See batch_lane.h. */
#include "batch_lane.h"

#include <stdio.h>
#include <string.h>

struct lane lane = {.users = 10000};

struct buy lane_buy(int64_t product, int64_t user, int64_t quantity)
{
    return (struct buy){.strategy = "batch",
                        .product = product,
                        .user = user,
                        .quantity = quantity,
                        .more = "&wait_ms=60000"};
}

void lane_wait_queued(int64_t count)
{
    server_wait_metric(lane.server, "seckill_lane_waiting", "strategy=\"batch\"", count);
}

int64_t lane_put_seen(const char *more, int status, const char *code)
{
    struct buy buy = lane_buy(lane.product, ++lane.users, 1);

    shop_put(lane.server, lane.product, 10, more);
    buy.strategy = "pessimistic";
    shop_expect_buy(lane.server, &buy, status, code, NULL);
    return buy.user;
}

struct crowd *lane_begin(void)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = lane_buy(HELD_PRODUCT, 1, 1);

    server_wait_metric(lane.server, "seckill_orders_in_flight", "", 0);
    pg_proxy_arm(lane.db.proxy, "conditional_buy", PG_FAULT_HOLD);
    shop_crowd_buy(crowd, lane.server, &buy);
    crowd_send(crowd);
    pg_proxy_wait_fault(lane.db.proxy);
    return crowd;
}

void lane_queue(struct crowd *crowd, const struct buy *buy)
{
    shop_crowd_buy(crowd, lane.server, buy);
    crowd_send(crowd);
    lane_wait_queued(crowd_size(crowd) - 1);
}

void lane_release(void)
{
    pg_proxy_release(lane.db.proxy);
}

void lane_end(struct crowd *crowd)
{
    lane_release();
    crowd_finish(crowd, LANE_PATIENCE_US);
    assert_int_equal(crowd_at(crowd, 0)->reply.status, 201);
}

void lane_sell(int count)
{
    struct crowd *crowd = lane_begin();

    for (int i = 0; i < count; i++) {
        struct buy buy = lane_buy(lane.product, ++lane.users, 1);
        shop_crowd_buy(crowd, lane.server, &buy);
    }
    crowd_send(crowd);
    lane_wait_queued(count);
    lane_end(crowd);
    crowd_destroy(crowd);
}

void lane_expect(const struct crowd *crowd, int i, int status, const char *code)
{
    const struct crowd_call *call = crowd_at(crowd, i);

    if (call->reply.status != status || strcmp(call->code, code) != 0)
        fail_msg("call %d: %d %s", i, call->reply.status, call->code);
}

int64_t lane_transactions(void)
{
    return witness_number(lane.witness,
                          "SELECT count(DISTINCT xmin::text) FROM orders"
                          " WHERE product_id IN (%lld, %lld)",
                          (long long)lane.product, (long long)lane.product + 1);
}

struct spent lane_spent(const char *ended)
{
    char labels[64];

    snprintf(labels, sizeof labels, "strategy=\"batch\",ended=\"%s\"", ended);
    return (struct spent){
        .orders = server_metric(lane.server, "seckill_cost_orders_total", labels),
        .round_trips = server_metric(lane.server, "seckill_cost_round_trips_total", labels),
        .flushes = server_metric(lane.server, "seckill_cost_flushes_total", labels)};
}

void lane_expect_spent(const char *ended, struct spent before, struct spent more)
{
    struct spent now = lane_spent(ended);

    assert_int_equal(now.orders - before.orders, more.orders);
    assert_int_equal(now.round_trips - before.round_trips, more.round_trips);
    assert_int_equal(now.flushes - before.flushes, more.flushes);
}

static int next_products(void **state)
{
    (void)state;
    lane.product += 2;
    return 0;
}

int lane_run(const char *group)
{
    proxied_open(&lane.db, group);
    server_use_database(lane.db.through);
    /* Without redis-stock, whose reconciler may hold a product's row for a moment: the one
     * statement passes such a row by, and the batch has other costs. */
    lane.server = server_start("--flush", "own", "--work-timeout-ms", "30000", "--lock-ttl-ms",
                               "60000", "--redis", "");
    lane.conninfo = lane.db.conninfo;
    lane.witness = lane.db.witness;
    /* The server has seen the held product's sale before any test counts what it costs. */
    struct buy buy = lane_buy(HELD_PRODUCT, 1, 1);
    shop_put(lane.server, HELD_PRODUCT, 1000, NULL);
    shop_expect_buy(lane.server, &buy, 201, "", NULL);
    t_each(next_products, NULL);
    int failed = t_run_all(NULL, NULL);
    if (!failed)
        server_stop(lane.server);
    server_teardown(NULL);
    proxied_close(&lane.db);
    return failed != 0;
}
