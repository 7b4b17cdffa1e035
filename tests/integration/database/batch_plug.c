/* See batch_plug.h. */
#include "batch_plug.h"

#include <stdio.h>
#include <string.h>

struct plugged plugged = {.users = 10000};

struct buy plug_buy(int64_t product, int64_t user, int64_t quantity)
{
    return (struct buy){.strategy = "batch",
                        .product = product,
                        .user = user,
                        .quantity = quantity,
                        .more = "&wait_ms=60000"};
}

void plug_wait_queued(int64_t count)
{
    server_wait_metric(plugged.server, "seckill_lane_waiting", "strategy=\"batch\"", count);
}

int64_t plug_put_seen(const char *more, int status, const char *code)
{
    struct buy buy = plug_buy(plugged.product, ++plugged.users, 1);

    shop_put(plugged.server, plugged.product, 10, more);
    buy.strategy = "pessimistic";
    shop_expect_buy(plugged.server, &buy, status, code, NULL);
    return buy.user;
}

struct crowd *plug_begin(void)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = plug_buy(PLUG, 1, 1);

    server_wait_metric(plugged.server, "seckill_orders_in_flight", "", 0);
    pg_proxy_arm(plugged.db.proxy, "conditional_buy", PG_FAULT_HOLD);
    shop_crowd_buy(crowd, plugged.server, &buy);
    crowd_send(crowd);
    pg_proxy_wait_fault(plugged.db.proxy);
    return crowd;
}

void plug_queue(struct crowd *crowd, const struct buy *buy)
{
    shop_crowd_buy(crowd, plugged.server, buy);
    crowd_send(crowd);
    plug_wait_queued(crowd_size(crowd) - 1);
}

void plug_release(void)
{
    pg_proxy_release(plugged.db.proxy);
}

void plug_end(struct crowd *crowd)
{
    plug_release();
    crowd_finish(crowd, PLUG_PATIENCE_US);
    assert_int_equal(crowd_at(crowd, 0)->reply.status, 201);
}

void plug_sell(int count)
{
    struct crowd *crowd = plug_begin();

    for (int i = 0; i < count; i++) {
        struct buy buy = plug_buy(plugged.product, ++plugged.users, 1);
        shop_crowd_buy(crowd, plugged.server, &buy);
    }
    crowd_send(crowd);
    plug_wait_queued(count);
    plug_end(crowd);
    crowd_destroy(crowd);
}

void plug_expect(const struct crowd *crowd, int i, int status, const char *code)
{
    const struct crowd_call *call = crowd_at(crowd, i);

    if (call->reply.status != status || strcmp(call->code, code) != 0)
        fail_msg("call %d: %d %s", i, call->reply.status, call->code);
}

int64_t plug_transactions(void)
{
    return witness_number(plugged.witness,
                          "SELECT count(DISTINCT xmin::text) FROM orders"
                          " WHERE product_id IN (%lld, %lld)",
                          (long long)plugged.product, (long long)plugged.product + 1);
}

struct spent plug_spent(const char *ended)
{
    char labels[64];

    snprintf(labels, sizeof labels, "strategy=\"batch\",ended=\"%s\"", ended);
    return (struct spent){
        .orders = server_metric(plugged.server, "seckill_cost_orders_total", labels),
        .round_trips = server_metric(plugged.server, "seckill_cost_round_trips_total", labels),
        .flushes = server_metric(plugged.server, "seckill_cost_flushes_total", labels)};
}

void plug_expect_spent(const char *ended, struct spent before, struct spent more)
{
    struct spent now = plug_spent(ended);

    assert_int_equal(now.orders - before.orders, more.orders);
    assert_int_equal(now.round_trips - before.round_trips, more.round_trips);
    assert_int_equal(now.flushes - before.flushes, more.flushes);
}

static int next_products(void **state)
{
    (void)state;
    plugged.product += 2;
    return 0;
}

int plug_run(const char *group, struct CMUnitTest *tests, size_t count)
{
    proxied_open(&plugged.db, group);
    server_use_database(plugged.db.through);
    /* Without redis-stock, whose reconciler may hold a product's row for a moment: the one
     * statement passes such a row by, and the batch has other costs. */
    plugged.server = server_start("--flush", "own", "--work-timeout-ms", "30000", "--lock-ttl-ms",
                                  "60000", "--redis", "");
    plugged.conninfo = plugged.db.conninfo;
    plugged.witness = plugged.db.witness;
    /* The server has seen the plug's sale before any test counts what it costs. */
    struct buy buy = plug_buy(PLUG, 1, 1);
    shop_put(plugged.server, PLUG, 1000, NULL);
    shop_expect_buy(plugged.server, &buy, 201, "", NULL);
    for (size_t i = 0; i < count; i++)
        tests[i].setup_func = next_products;
    int failed = _cmocka_run_group_tests(group, tests, count, NULL, NULL);
    if (!failed)
        server_stop(plugged.server);
    server_teardown(NULL);
    proxied_close(&plugged.db);
    return failed != 0;
}
