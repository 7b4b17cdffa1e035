/*
 * Redis servers that answer and will not do it: demoted, without memory, without rights.
 *
 * What they refuse is a 503 at once, /readyz shows their own words for each of them, and when they
 * serve again so does the server. Where their address has moved to another Redis meanwhile, as
 * after a failover, the sessions that are open follow it.
 */
#include "lib/fixtures/shop.h"
#include "lib/stack.h"
#include "lib/t.h"

#include "base/clock.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NODES = 3, PATH_SIZE = 200 };

/* The test's own connections, made before anything is refused: they stay authenticated. */
static struct place {
    char path[PATH_SIZE];
    redisContext *context;
} locks, stock, nodes[NODES];

static char *conninfo; /* owned */
static int64_t product;

static int64_t next_product(void)
{
    return ++product;
}

static void open_place(struct place *place, const char *url, size_t length)
{
    snprintf(place->path, sizeof place->path, "%.*s", (int)(length - strlen("unix://")),
             url + strlen("unix://"));
    place->context = redisConnectUnix(place->path);
    assert_non_null(place->context);
    assert_int_equal(place->context->err, 0);
}

/* A command as hiredis formats it: "%s" stands for nothing, as a value of its own. */
static void tell(const struct place *place, const char *command)
{
    redisReply *reply = redisCommand(place->context, command, "");

    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", command, reply ? reply->str : place->context->errstr);
    freeReplyObject(reply);
}

static void chmod_folder(const struct place *place, mode_t mode)
{
    redisReply *reply = redisCommand(place->context, "CONFIG GET dir");

    assert_non_null(reply);
    assert_int_equal(chmod(reply->element[1]->str, mode), 0);
    freeReplyObject(reply);
}

/* Saves, and waits for how it ends. */
static void save(const struct place *place, const char *result)
{
    int64_t since_us = clock_mono_us();
    char line[64];
    bool done = false;

    snprintf(line, sizeof line, "rdb_last_bgsave_status:%s", result);
    tell(place, "BGSAVE");
    while (!done) {
        redisReply *reply = redisCommand(place->context, "INFO persistence");
        assert_non_null(reply);
        done = strstr(reply->str, "rdb_bgsave_in_progress:0") && strstr(reply->str, line);
        freeReplyObject(reply);
        if (!done)
            t_wait(since_us, "not so: %s", line);
    }
}

static void cannot_save(const struct place *place)
{
    freeReplyObject(redisCommand(place->context, "CONFIG SET save %s", "3600 1"));
    chmod_folder(place, 0500);
    save(place, "err");
}

static void can_save(const struct place *place)
{
    chmod_folder(place, 0700);
    save(place, "ok");
    tell(place, "CONFIG SET save %s");
}

static const struct fault {
    const char *word;
    const char *begin; /* a command, or NULL: the function */
    const char *end;
    void (*begin_by)(const struct place *place);
    void (*end_by)(const struct place *place);
    bool open_ones_serve; /* sessions that are open do not notice */
} faults[] = {
    {"READONLY", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", NULL, NULL, false},
    {"NOREPLICAS", "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", NULL,
     NULL, false},
    {"OOM", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", NULL, NULL, false},
    {"NOPERM", "ACL SETUSER default -evalsha -set", "ACL SETUSER default +evalsha +set", NULL, NULL,
     false},
    {"NOAUTH", "CONFIG SET requirepass secret", "CONFIG SET requirepass %s", NULL, NULL, true},
    {"MISCONF", NULL, NULL, cannot_save, can_save, false},
};
enum { FAULTS = sizeof faults / sizeof *faults };

static void begin(const struct fault *fault, const struct place *place)
{
    if (fault->begin)
        tell(place, fault->begin);
    else
        fault->begin_by(place);
}

static void end(const struct fault *fault, const struct place *place)
{
    if (fault->end)
        tell(place, fault->end);
    else
        fault->end_by(place);
}

/* Once PostgreSQL serves. */
static struct server_backend look(struct server *server, const char *backend)
{
    server_wait_ready(server, 200, NULL);
    return server_backend(server, backend);
}

static bool names(const char *detail, const char *word)
{
    return strstr(detail, word) != NULL;
}

static bool begins(const char *detail, const char *word)
{
    return strncmp(detail, word, strlen(word)) == 0;
}

/* `word` NULL: up, and nothing is wrong. */
static void wait_told(struct server *server, const char *backend, const char *word,
                      bool (*has)(const char *detail, const char *word))
{
    int64_t since_us = clock_mono_us();

    for (;;) {
        struct server_backend is = look(server, backend);
        if (word ? !is.up && has(is.detail, word) : is.up && !*is.detail)
            return;
        t_wait(since_us, "%s is %s: \"%s\", not %s", backend, is.up ? "up" : "not up", is.detail,
               word ? word : "up");
    }
}

static void wait_backend(struct server *server, const char *backend, const char *word)
{
    wait_told(server, backend, word, begins);
}

static void wait_logged(const struct server *server, const char *word)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    while (!server_says(server, word))
        if (clock_mono_us() >= until_us)
            fail_msg("the log says nothing of %s", word);
}

static void each_refusal_is_told(const char *strategy, const char *backend,
                                 const struct place *places, int count)
{
    struct server *server = server_start(NULL);
    struct buy buy = {.strategy = strategy, .product = next_product(), .user = 1};

    shop_put(server, product, 1000, NULL);
    for (int i = 0; i < FAULTS; i++) {
        const struct fault *fault = &faults[i];
        /* In this order: what the last fault made stale is opened anew before the next one. */
        wait_backend(server, backend, NULL);
        shop_expect_buy_soon(server, &buy, 201);
        for (int j = 0; j < count; j++)
            begin(fault, &places[j]);
        wait_backend(server, backend, fault->word); /* no order has met it yet */
        if (fault->open_ones_serve)
            shop_expect_buy(server, &buy, 201, "", NULL);
        else
            shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
        wait_logged(server, fault->word); /* by the next probe, which has to meet it */
        for (int j = 0; j < count; j++)
            end(fault, &places[j]);
    }
    shop_expect_buy_soon(server, &buy, 201);
    wait_backend(server, backend, NULL);
    server_stop(server);
}

TEST(a_lock_redis_that_refuses_is_told)
{
    each_refusal_is_told("redis-queue", "redis", &locks, 1);
}

TEST(a_stock_redis_that_refuses_is_told)
{
    each_refusal_is_told("redis-stock", "stock-redis", &stock, 1);
}

/* Two of three nodes: each says its own, and no majority is left. */
TEST(redlock_nodes_that_refuse_are_told)
{
    if (!stack_redlock())
        skip();
    each_refusal_is_told("redlock", "redlock-2", nodes, 2);

    struct server *server = server_start(NULL);
    wait_backend(server, "redlock", NULL);
    tell(&nodes[0], "REPLICAOF 127.0.0.1 1");
    wait_backend(server, "redlock-1", "READONLY");
    wait_backend(server, "redlock", NULL);
    tell(&nodes[1], "REPLICAOF 127.0.0.1 1");
    wait_backend(server, "redlock", "no majority");
    tell(&nodes[0], "REPLICAOF NO ONE");
    tell(&nodes[1], "REPLICAOF NO ONE");
    wait_backend(server, "redlock", NULL);
    server_stop(server);
}

/* Commands that the strategies do not need may be forbidden. */
TEST(a_user_who_may_not_ask_for_settings_is_served)
{
    struct buy buy = {.strategy = "redis-stock", .product = next_product(), .user = 1};

    tell(&stock, "ACL SETUSER default -config|get -info");
    struct server *server = server_start(NULL);
    shop_put(server, product, 10, NULL);
    shop_expect_buy_soon(server, &buy, 201);
    assert_true(look(server, "stock-redis").up);
    server_stop(server);
    tell(&stock, "ACL SETUSER default +config|get +info");
}

/* A start says what it has found in a second; a machine that stood still for longer starts again.
 */
static struct server *start_until_said(const char *text)
{
    int64_t until_us = clock_mono_us() + t_patience_us();
    struct server *server = server_start(NULL);

    while (!server_says(server, text)) {
        assert_true(clock_mono_us() < until_us);
        server_stop(server);
        server = server_start(NULL);
    }
    return server;
}

/* Without this the figures are not to be had; it sells, and says so. */
TEST(what_is_not_told_is_said_to_be_unknown)
{
    struct buy buy = {.strategy = "redis-stock", .product = next_product(), .user = 1};

    tell(&stock, "ACL SETUSER default -@dangerous +acl +config|set");
    struct server *server = start_until_said("INFO is not allowed");
    shop_put(server, product, 10, NULL);
    shop_expect_buy_soon(server, &buy, 201);
    struct server_backend is = look(server, "stock-redis");
    assert_true(is.up);
    assert_non_null(strstr(is.detail, "CONFIG GET is not allowed"));
    assert_non_null(strstr(is.detail, "INFO is not allowed"));
    assert_false(server_says(server, "answers 503 until"));
    server_stop(server);
    tell(&stock, "ACL SETUSER default +@all");
}

/* All that strategies need and their user may not use; an order may need one of them alone. */
TEST(each_command_that_is_missing_is_named)
{
    static const char *const of_locks[] = {"SET", "INCR", "RPUSH", "TIME", "DEL"};
    static const char *const of_stock[] = {"XADD", "TIME", "DEL", "HSETNX", "SADD"};

    struct server *server = server_start(NULL);
    wait_backend(server, "redis", NULL);
    wait_backend(server, "stock-redis", NULL);
    tell(&locks, "ACL SETUSER default -set -incr -rpush -time -del");
    tell(&stock, "ACL SETUSER default -xadd -time -del -hsetnx -sadd");
    for (size_t i = 0; i < sizeof of_locks / sizeof *of_locks; i++) {
        wait_told(server, "redis", of_locks[i], names);
        wait_told(server, "stock-redis", of_stock[i], names);
    }
    tell(&locks, "ACL SETUSER default +@all -subscribe");
    wait_told(server, "redis", "subscribe", names);
    tell(&locks, "ACL SETUSER default +@all");
    tell(&stock, "ACL SETUSER default +@all");
    wait_backend(server, "redis", NULL);
    wait_backend(server, "stock-redis", NULL);
    assert_true(look(server, "stock-redis").up);
    server_stop(server);
}

/* All at once, of a Redis that serves. */
TEST(each_flaw_is_told)
{
    tell(&stock, "CONFIG SET maxmemory-policy allkeys-lru");
    tell(&stock, "CONFIG SET appendfsync everysec");
    tell(&locks, "CONFIG SET maxmemory-policy volatile-ttl");
    server_stop(start_until_said("a lock may be evicted"));
    struct server *server = start_until_said("stock and 202s may be evicted");
    struct server_backend is = look(server, "stock-redis");
    assert_true(is.up);
    assert_non_null(strstr(is.detail, "appendfsync"));
    assert_non_null(strstr(is.detail, "maxmemory-policy"));
    is = look(server, "redis");
    assert_true(is.up);
    assert_non_null(strstr(is.detail, "maxmemory-policy"));
    tell(&locks, "CONFIG SET maxmemory-policy noeviction");
    wait_backend(server, "redis", NULL); /* the probe looks again */
    tell(&stock, "CONFIG SET appendfsync always");
    tell(&stock, "CONFIG SET maxmemory-policy noeviction");
    server_stop(server);
}

static void point(const char *link, const char *to)
{
    char beside[PATH_SIZE];

    snprintf(beside, sizeof beside, "%s.new", link);
    assert_int_equal(symlink(to, beside), 0);
    assert_int_equal(rename(beside, link), 0);
}

/* An order is answered before its lock is released, and a lock that a replica keeps is busy. */
static void wait_released(const struct place *place, int64_t key)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    for (size_t held = 1; held;) {
        redisReply *reply = redisCommand(place->context, "KEYS *:lock:*:%lld", (long long)key);
        assert_non_null(reply);
        assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
        held = reply->elements;
        freeReplyObject(reply);
        if (clock_mono_us() >= until_us)
            fail_msg("%zu locks are still held", held);
    }
}

/* The address is a link to one Redis, which is demoted, and then to another. */
static void moves(const char *strategy, const char *flag, const struct place *from,
                  const struct place *to)
{
    char folder[] = "/tmp/seckill-moved.XXXXXX";
    char link[64];
    char url[80];
    struct buy buy = {.strategy = strategy, .product = next_product(), .user = 1};

    assert_non_null(mkdtemp(folder));
    snprintf(link, sizeof link, "%s/redis.sock", folder);
    snprintf(url, sizeof url, "unix://%s", link);
    point(link, from->path);
    struct server *server = server_start(flag, url);
    shop_put(server, product, 1000, NULL);
    shop_expect_buy_soon(server, &buy, 201);
    wait_released(from, product);
    tell(from, "REPLICAOF 127.0.0.1 1");
    shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
    point(link, to->path);
    shop_expect_buy_soon(server, &buy, 201);
    tell(from, "REPLICAOF NO ONE");
    server_stop(server);
    unlink(link);
    rmdir(folder);
}

TEST(open_sessions_follow_a_failover)
{
    moves("redis-queue", "--redis", &locks, &stock);
    moves("redis-watchdog", "--redis", &locks, &stock);
    moves("redis-stock", "--stock-redis", &stock, &locks);
}

static int serve_again(void **state)
{
    static const char *const commands[] = {"REPLICAOF NO ONE",
                                           "CONFIG SET min-replicas-to-write 0",
                                           "CONFIG SET maxmemory 0",
                                           "ACL SETUSER default +@all",
                                           "CONFIG SET requirepass %s",
                                           "CONFIG SET save %s",
                                           "CONFIG SET maxmemory-policy noeviction"};
    struct place *all[] = {&locks, &stock, &nodes[0], &nodes[1], &nodes[2]};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i]->context)
            continue;
        for (size_t j = 0; j < sizeof commands / sizeof *commands; j++)
            tell(all[i], commands[j]);
        chmod_folder(all[i], 0700);
    }
    return server_teardown(state);
}

TEST_EACH(NULL, serve_again)

int main(void)
{
    const char *url = stack_redlock();

    open_place(&locks, stack_redis(), strlen(stack_redis()));
    open_place(&stock, stack_stock_redis(), strlen(stack_stock_redis()));
    for (int i = 0; url && i < NODES; i++) {
        size_t length = strcspn(url, ",");
        open_place(&nodes[i], url, length);
        url += length + 1;
    }
    conninfo = stack_database_create("seckill_redis_refusals");
    server_use_database(conninfo);
    int failed = t_run_all(NULL, stack_restore);
    stack_database_drop("seckill_redis_refusals");
    free(conninfo);
    return failed != 0;
}
