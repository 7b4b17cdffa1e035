/*
 * Two apps in one process, with a database of its own each: both sell the same product, and what
 * one knows, remembers and counts is not the other's. One stop ends both.
 */
#include "app.h"
#include "base/clock.h"
#include "base/stop.h"
#include "lib/http/http_client.h"
#include "lib/server.h"
#include "lib/stack.h"
#include "lib/t.h"
#include "lib/witness.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { APPS = 2, BUYS = 9 };

static const int64_t stocks[APPS] = {3, 7};

static struct side {
    char name[32];
    char *database; /* owned */
    struct settings settings;
    struct app *app;
    struct http_client *client;
    struct witness *witness;
    pthread_t thread;
    int status;
} sides[APPS];

static struct side *loading;

/* The settings' environment: the stack's, and what is the side's own. */
static char *look_up(const char *name)
{
    static char listen[] = "127.0.0.1:0";
    static char patience_ms[] = "30000"; /* so that a slow machine answers no order with 202 */
    const struct {
        const char *name;
        char *value;
    } rows[] = {
        {"SECKILL_LISTEN", listen},
        {"SECKILL_LOCK_WAIT_MS", patience_ms},
        {"SECKILL_DATABASE", loading->database},
        {"SECKILL_SYSTEM_NAME", loading->name},
        {"SECKILL_REDIS", getenv("SECKILL_TEST_REDIS")},
        {"SECKILL_STOCK_REDIS", getenv("SECKILL_TEST_STOCK_REDIS")},
        {"SECKILL_AMQP", getenv("SECKILL_TEST_AMQP")},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].value;
    return NULL;
}

static void load_settings(struct side *side)
{
    static char program[] = "two-apps";
    enum settings_action action;
    struct error error;

    loading = side;
    if (!settings_load(&side->settings, &action, 1, (char *[]){program, NULL}, look_up, &error))
        fail_msg("%s", error.text);
}

static void *serve(void *argument)
{
    struct side *side = argument;

    side->status = app_serve(side->app);
    return NULL;
}

static int64_t soon(void)
{
    return clock_mono_us() + SERVER_PATIENCE_US;
}

static struct http_reply call(struct side *side, const char *method, const char *target,
                              const char *body)
{
    struct http_reply reply;

    assert_int_equal(http_client_call(side->client, method, target, NULL, body, soon(), &reply),
                     HTTP_REPLY);
    return reply;
}

static void put(struct side *side, int64_t product, int64_t stock)
{
    char target[64];
    char body[64];

    snprintf(target, sizeof target, "/products/%lld", (long long)product);
    snprintf(body, sizeof body, "{\"stock\": %lld}", (long long)stock);
    struct http_reply reply = call(side, "PUT", target, body);
    assert_int_equal(reply.status, 201);
    http_reply_fini(&reply);
}

/* Whether it was sold, or accepted. */
static bool buy(struct side *side, const char *strategy, int64_t product, int64_t user)
{
    char target[64];
    char body[96];

    snprintf(target, sizeof target, "/orders?strategy=%s", strategy);
    snprintf(body, sizeof body, "{\"product_id\": %lld, \"user_id\": %lld}", (long long)product,
             (long long)user);
    struct http_reply reply = call(side, "POST", target, body);
    if (reply.status != 201 && reply.status != 202 && reply.status != 409)
        fail_msg("%s: %d %s", strategy, reply.status, reply.body);
    bool sold = reply.status != 409;
    http_reply_fini(&reply);
    return sold;
}

/* Those that were answered with 202 are decided a moment later. */
static void expect_sold(struct side *side, int64_t product, int64_t units)
{

    T_UNTIL(witness_sale(side->witness, product).sold >= units);
    assert_int_equal(witness_sale(side->witness, product).sold, units);
    witness_expect_exact(side->witness, product);
}

static int start(void **state)
{
    struct error error = {ERROR_NONE, ""};

    (void)state;
    for (int i = 0; i < APPS; i++) {
        struct side *side = &sides[i];
        snprintf(side->name, sizeof side->name, "two_apps_%d", i + 1);
        side->database = stack_database_create(side->name);
        load_settings(side);
        side->app = app_create(&side->settings, &error);
        if (!side->app)
            fail_msg("%s", error.text);
        side->witness = witness_open(side->database);
    }
    assert_true(stop_begin(&error));
    for (int i = 0; i < APPS; i++) {
        assert_int_equal(pthread_create(&sides[i].thread, NULL, serve, &sides[i]), 0);
        sides[i].client = http_client_open(app_address(sides[i].app), soon());
        assert_non_null(sides[i].client);
    }
    return 0;
}

/* In turn, so that each is asked while the other is in every state: a buyer's answer is his own
 * app's, also when the other has just sold out and remembers it. */
static void sell_on_both(const char *strategy, int64_t product)
{
    for (int i = 0; i < APPS; i++)
        put(&sides[i], product, stocks[i]);
    for (int64_t user = 1; user <= BUYS; user++)
        for (int i = 0; i < APPS; i++)
            assert_int_equal(buy(&sides[i], strategy, product, user), user <= stocks[i]);
    for (int i = 0; i < APPS; i++)
        expect_sold(&sides[i], product, stocks[i]);
}

TEST(both_sell)
{
    static const char *const strategies[] = {"conditional", "batch",       "local-lock",
                                             "redis-queue", "redis-stock", "partitioned-queue"};
    size_t count = sizeof strategies / sizeof *strategies - (stack_amqp() == NULL);

    for (size_t i = 0; i < count; i++)
        sell_on_both(strategies[i], 1 + (int64_t)i);
}

TEST(each_counts_its_own)
{
    for (int i = 0; i < APPS; i++) {
        char line[128];
        struct http_reply reply = call(&sides[i], "GET", "/metrics", NULL);
        snprintf(line, sizeof line,
                 "seckill_orders_total{strategy=\"conditional\",kind=\"buy\","
                 "outcome=\"confirmed\"} %lld\n",
                 (long long)stocks[i]);
        const char *found = strstr(reply.body, line);
        assert_non_null(found);
        assert_null(strstr(found + 1, line));
        http_reply_fini(&reply);
    }
}

TEST(one_stop_ends_both)
{
    assert_int_equal(raise(SIGTERM), 0);
    for (int i = 0; i < APPS; i++) {
        assert_int_equal(pthread_join(sides[i].thread, NULL), 0);
        assert_int_equal(sides[i].status, 0);
    }
}

static int finish(void **state)
{
    (void)state;
    for (int i = 0; i < APPS; i++) {
        http_client_close(sides[i].client);
        witness_close(sides[i].witness);
        app_destroy(sides[i].app);
        stack_database_drop(sides[i].name);
        free(sides[i].database);
    }
    return 0;
}

TEST_GROUP(start, finish)
