/*
 * GET /strategies: names, promises and bodies are what docs/STRATEGIES.md says of them.
 *
 * The table below is a second copy on purpose. Every other program here takes what a strategy
 * promises from the registry; were a letter dropped there, they would all stop asking for it. A
 * strategy that has no row yet is named in a notice.
 */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"
#include "lib/stack.h"
#include "strategies/strategies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct promise {
    const char *name;
    const char *letters;
    bool bodies;
    bool mixes;
    bool asynchronous;
    const char *flag; /* of what it needs beside PostgreSQL; NULL: nothing */
} promises[] = {
    {"none", "", false, false, false, NULL},
    {"local-lock", "1", true, false, false, NULL},
    {"pessimistic", "1NPF", false, true, false, NULL},
    {"optimistic", "1NPF", false, true, false, NULL},
    {"conditional", "1NPF", false, true, false, NULL},
    {"serializable", "1NPF", false, true, false, NULL},
    {"advisory-lock", "1NPF", true, false, false, NULL},
    {"lock-row", "1NF", true, false, false, NULL},
    {"buckets", "1NPF", false, true, false, NULL},
    {"batch", "1NPF", false, true, false, NULL},
    {"redis-setnx", "1N", true, false, false, "--redis"},
    {"redis-getset", "1N", true, false, false, "--redis"},
    {"redis-expiry", "1N", true, false, false, "--redis"},
    {"redis-uuid", "1N", true, false, false, "--redis"},
    {"redis-token", "1N", true, false, false, "--redis"},
    {"redis-reentrant", "1N", true, false, false, "--redis"},
    {"redis-watchdog", "1N", true, false, false, "--redis"},
    {"redis-fenced", "1NPF", true, false, false, "--redis"},
    {"redlock", "1N", true, false, false, "--redlock"},
    {"wllock", "1N", true, false, false, "--redis"},
    {"redis-queue", "1NPF", false, true, false, "--redis"},
    {"memcached-lock", "1N", true, false, false, "--memcached"},
    {"zookeeper-lock", "1N", true, false, false, "--zookeeper"},
    {"redis-stock", "1NP", false, true, true, "--redis"},
    {"partitioned-queue", "1NPF", false, true, true, "--amqp"},
};
enum { COUNT = sizeof promises / sizeof *promises };

static bool has(const struct http_reply *reply, int i, const char *member)
{
    char path[64];

    snprintf(path, sizeof path, "%d.%s", i, member);
    return http_reply_bool(reply, path);
}

/* What the server needs that this stack may lack. */
static bool is_here(const char *flag)
{
    static const char *const may_lack[][2] = {{"--redlock", "SECKILL_TEST_REDLOCK"},
                                              {"--memcached", "SECKILL_TEST_MEMCACHED"},
                                              {"--zookeeper", "SECKILL_TEST_ZOOKEEPER"},
                                              {"--amqp", "SECKILL_TEST_AMQP"}};

    for (size_t i = 0; flag && i < sizeof may_lack / sizeof *may_lack; i++)
        if (strcmp(flag, may_lack[i][0]) == 0)
            return getenv(may_lack[i][1]) != NULL;
    return true;
}

/* Of row i; NULL, and a notice, where the list above does not know it. */
static const struct promise *find_promise(const struct http_reply *reply, int i)
{
    char path[64];
    char name[128];

    snprintf(path, sizeof path, "%d.name", i);
    http_reply_text(reply, path, name, sizeof name);
    assert_string_equal(name, strategy_at((size_t)i)->name);
    for (int j = 0; j < COUNT; j++)
        if (strcmp(promises[j].name, name) == 0)
            return &promises[j];
    printf("notice: %s has no row in test_registry.c: what it promises is its own word alone\n",
           name);
    return NULL;
}

static void check_row(const struct http_reply *reply, int i, const struct promise *promise)
{
    char path[64];
    char text[128];

    snprintf(path, sizeof path, "%d.summary", i);
    http_reply_text(reply, path, text, sizeof text);
    assert_true(strlen(text) > 20);
    static const char *const members[] = {"one_instance", "many_instances", "paused_holder",
                                          "redis_failover"};
    for (int letter = 0; letter < 4; letter++) {
        snprintf(path, sizeof path, "guarantees.%s", members[letter]);
        assert_int_equal(has(reply, i, path), strchr(promise->letters, "1NPF"[letter]) != NULL);
    }
    assert_int_equal(has(reply, i, "mixes"), promise->mixes);
    assert_int_equal(has(reply, i, "asynchronous"), promise->asynchronous);
    snprintf(path, sizeof path, "%d.bodies", i);
    assert_int_equal(http_reply_count(reply, path), promise->bodies ? 2 : 0);
    snprintf(path, sizeof path, "%d.needs", i);
    assert_int_equal(http_reply_count(reply, path), promise->flag ? 2 : 1);
}

static void strategies_tell_what_they_promise(void **state)
{
    (void)state;
    struct server *server = server_start(NULL);
    struct http_reply reply = server_call(server, "GET", "/strategies", NULL, NULL);
    const struct promise *next = promises; /* in the list's order */

    assert_int_equal(reply.status, 200);
    assert_int_equal(http_reply_count(&reply, ""), strategy_count());
    for (int i = 0; i < (int)strategy_count(); i++) {
        const struct promise *promise = find_promise(&reply, i);
        char path[64];
        if (!promise)
            continue;
        assert_ptr_equal(promise, next++);
        check_row(&reply, i, promise);
        if (!is_here(promise->flag))
            continue;
        assert_true(has(&reply, i, "available"));
        snprintf(path, sizeof path, "%d.unavailable_reason", i);
        assert_true(http_reply_is_null(&reply, path));
    }
    assert_ptr_equal(next, promises + COUNT);
    http_reply_fini(&reply);
    server_stop(server);
}

static void a_strategy_without_its_backend_says_so(void **state)
{
    (void)state;
    struct server *server = server_start("--redis", NULL, "--redlock", NULL, "--memcached", NULL,
                                         "--zookeeper", NULL, "--amqp", NULL);
    struct http_reply reply = server_call(server, "GET", "/strategies", NULL, NULL);

    shop_put(server, 1, (int64_t)strategy_count(), NULL);
    for (int i = 0; i < (int)strategy_count(); i++) {
        const struct strategy *strategy = strategy_at((size_t)i);
        struct buy buy = {.strategy = strategy->name, .product = 1, .user = 1};
        const struct promise *promise = find_promise(&reply, i);
        bool needs_more = promise ? promise->flag != NULL : strategy->needs != NEED_POSTGRESQL;
        assert_int_equal(has(&reply, i, "available"), !needs_more);
        if (!needs_more) {
            shop_expect_buy(server, &buy, 201, "", NULL);
            continue;
        }
        char path[64];
        char reason[128];
        snprintf(path, sizeof path, "%d.unavailable_reason", i);
        http_reply_text(&reply, path, reason, sizeof reason);
        assert_non_null(strstr(reason, promise ? promise->flag : "--"));
        shop_expect_buy(server, &buy, 503, "strategy_unavailable", NULL);
    }
    http_reply_fini(&reply);
    server_stop(server);
}

int conformance_registry(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(strategies_tell_what_they_promise, server_teardown),
        cmocka_unit_test_teardown(a_strategy_without_its_backend_says_so, server_teardown),
    };
    char *conninfo = stack_database_create("seckill_registry");

    server_use_database(conninfo);
    int failed = t_run("registry", tests, sizeof tests / sizeof *tests, NULL, NULL);
    stack_database_drop("seckill_registry");
    free(conninfo);
    return failed;
}
