/*
 * A cancel whose strategy's backend is gone: done where PostgreSQL's row lock is enough, refused by
 * the backend's name where it is not, and in both cases right when the backend is back.
 */
#include "lib/t.h"
#include "lib/fixtures/outcome.h"
#include "lib/fixtures/shop.h"
#include "lib/stack.h"
#include "lib/witness.h"

#include "base/clock.h"
#include "strategies/strategies.h"
#include "strategy/backends.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { PRODUCTS_MAX = 64, TARGET_SIZE = 96 };

#define PATIENCE_US t_patience_us()

static char *conninfo; /* owned */
static struct witness *witness;
static char ids[PRODUCTS_MAX]
               [SHOP_ID_SIZE]; /* of each strategy's order; "": it was not to be had */

static int64_t product_of(size_t i)
{
    return (int64_t)i + 1;
}

static bool needs_only_postgresql(const struct strategy *strategy)
{
    return strategy->needs == NEED_POSTGRESQL;
}

/* One order of each strategy, the last unit of its product. */
static void buy_everywhere(struct server *server)
{
    for (size_t i = 0; i < strategy_count(); i++) {
        struct buy buy = {.strategy = strategy_at(i)->name, .product = product_of(i), .user = 1};

        shop_put(server, buy.product, 1, ", \"limit_per_user\": 1");
        struct http_reply reply = shop_buy(server, &buy);
        ids[i][0] = '\0';
        if (reply.status == 201)
            http_reply_text(&reply, "id", ids[i], sizeof ids[i]);
        else if (reply.status == 503)
            assert_non_null(strstr(reply.body, "strategy_unavailable"));
        else
            fail_msg("%s: %d: %s", buy.strategy, reply.status, reply.body);
        http_reply_fini(&reply);
    }
}

static struct http_reply send_cancel(struct server *server, size_t i)
{
    char target[TARGET_SIZE];

    snprintf(target, sizeof target, "/orders/%s/cancel", ids[i]);
    return server_call(server, "POST", target, NULL, NULL);
}

static void expect_cancelled(struct server *server, size_t i)
{
    for (int again = 0; again < 2; again++) {
        struct http_reply reply = send_cancel(server, i);

        if (reply.status != 200)
            fail_msg("%s: %d: %s", strategy_at(i)->name, reply.status, reply.body);
        http_reply_fini(&reply);
    }
    assert_int_equal(witness_sale(witness, product_of(i)).stock, 1);
    witness_expect_exact(witness, product_of(i));
}

/* The text names a backend of those that the strategy needs. */
static void expect_refused(struct server *server, size_t i, const char *code)
{
    struct http_reply reply = send_cancel(server, i);
    char got[32];
    bool named = false;

    http_reply_code(&reply, got, sizeof got);
    for (int id = BACKEND_POSTGRESQL + 1; id < BACKEND_COUNT; id++)
        named |= (strategy_at(i)->needs & 1u << id) != 0 &&
                 strstr(reply.body, backend_at(id)->name) != NULL;
    if (reply.status != 503 || strcmp(got, code) != 0 || !named)
        fail_msg("%s: %d: %s", strategy_at(i)->name, reply.status, reply.body);
    http_reply_fini(&reply);
    assert_int_equal(witness_sale(witness, product_of(i)).stock, 0);
}

static void cancel_everywhere(struct server *server, const char *refused)
{
    for (size_t i = 0; i < strategy_count(); i++) {
        const struct strategy *strategy = strategy_at(i);

        if (ids[i][0] == '\0')
            continue;
        if (strategy->mixes || needs_only_postgresql(strategy) || strategy->needs == 0)
            expect_cancelled(server, i);
        else if (refused)
            expect_refused(server, i, refused);
    }
}

/* The unit that went back is there, once. */
static void expect_sold_once_more(struct server *server, size_t i)
{
    struct buy buy = {.strategy = strategy_at(i)->name, .product = product_of(i), .user = 1};

    shop_expect_buy_soon(server, &buy, 201);
    buy.user = 2;
    shop_expect_buy(server, &buy, 409, "sold_out", NULL);
    witness_expect_exact(witness, product_of(i));
}

static void kill_what_is_quick_to_start(void)
{
    static const char *const servers[] = {"locks", "stock"};
    static const char *const nodes[] = {"redlock1", "redlock2", "redlock3"};

    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        stack_kill(servers[i], SIGKILL);
    for (size_t i = 0; stack_redlock() && i < sizeof nodes / sizeof *nodes; i++)
        stack_kill(nodes[i], SIGKILL);
    if (stack_memcached())
        stack_kill("memcached", SIGKILL);
}

/* Redis and memcached are killed and come back; of ZooKeeper and of RabbitMQ, which take long to
 * come back, the instance has an address where nobody listens. */
TEST(an_order_is_cancelled_without_its_backend)
{
    struct server *server = server_start(NULL);
    buy_everywhere(server);
    server_stop(server);
    server = server_start("--zookeeper", stack_zookeeper() ? "127.0.0.1:1" : NULL, "--amqp",
                          stack_amqp() ? "amqp://guest:guest@127.0.0.1:1" : NULL);
    kill_what_is_quick_to_start();
    cancel_everywhere(server, "backend_unavailable");
    stack_up();
    for (size_t i = 0; i < strategy_count(); i++) {
        if (ids[i][0] == '\0' || (strategy_at(i)->needs & (NEED_ZOOKEEPER | NEED_RABBITMQ)) != 0)
            continue;
        if (strategy_at(i)->mixes) {
            expect_sold_once_more(server, i);
            continue;
        }
        int64_t until_us = clock_mono_us() + PATIENCE_US;
        for (int status = 0; status != 200 && !needs_only_postgresql(strategy_at(i));) {
            struct http_reply reply = send_cancel(server, i);

            status = reply.status;
            http_reply_fini(&reply);
            assert_true(clock_mono_us() < until_us);
        }
        witness_expect_exact(witness, product_of(i));
    }
    server_stop(server);
}

/* An instance that has none of these backends. */
TEST(an_order_is_cancelled_where_its_backend_is_not_configured)
{
    struct server *server = server_start(NULL);
    buy_everywhere(server);
    struct server *bare = server_start("--redis", NULL, "--stock-redis", NULL, "--redlock", NULL,
                                       "--memcached", NULL, "--zookeeper", NULL, "--amqp", NULL);
    cancel_everywhere(bare, NULL);
    for (size_t i = 0; i < strategy_count(); i++) {
        if (ids[i][0] == '\0' || strategy_at(i)->mixes || needs_only_postgresql(strategy_at(i)))
            continue;
        struct http_reply reply = send_cancel(bare, i);

        assert_int_equal(reply.status, 503);
        assert_non_null(strstr(reply.body, "strategy_unavailable"));
        http_reply_fini(&reply);
    }
    server_stop(bare);
    server_stop(server);
}

static int setup(void **state)
{
    (void)state;
    conninfo = stack_database_create("seckill_cancel_without");
    server_use_database(conninfo);
    server_stop(server_start(NULL)); /* makes the tables */
    witness = witness_open(conninfo);
    assert_true(strategy_count() <= PRODUCTS_MAX);
    return 0;
}

static int teardown(void **state)
{
    int left = server_teardown(state);

    stack_up();
    witness_close(witness);
    stack_database_drop("seckill_cancel_without");
    free(conninfo);
    return left;
}

TEST_GROUP(NULL, stack_restore)
TEST_EACH(setup, teardown)
