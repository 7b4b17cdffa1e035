/*
 * --standbys: a 201 is on the disk of as many named standbys, whatever PostgreSQL waits for. Names
 * that somebody has emptied and '*', which any stranger satisfies, commit at once. The probe is
 * kept still, or it would keep every order out before there is one.
 */
#include "lib/fixtures/shop.h"
#include "lib/postgres.h"
#include "lib/redis/redis_own.h"

#include "lib/t.h"

#include "base/clock.h"

enum { STOCK = 100, PATIENCE_US = 60000000 };

static struct {
    struct postgres *primary;
    struct postgres *standby;
    struct server *counts;
    struct server *control; /* which does not */
    struct witness *witness;
    int64_t user;
} here;

static const struct way {
    const char *strategy;
    const char *more;
    const char *key;
} ways[] = {{"conditional", NULL, NULL},     {"conditional", "&flush=shared", NULL},
            {"conditional", NULL, "a-key"},  {"pessimistic", NULL, NULL},
            {"serializable", NULL, NULL},    {"buckets", NULL, NULL},
            {"pipelined", NULL, NULL},       {"batch", NULL, NULL},
            {"batch", "&flush=shared", NULL}};
enum { WAYS = sizeof ways / sizeof *ways };

static int start(void **state)
{
    (void)state;
    here.primary = postgres_create(NULL);
    here.standby = postgres_standby(here.primary, "second");
    here.witness = witness_open(postgres_conninfo(here.primary, "postgres", NULL));
    witness_run(here.witness, "GRANT pg_monitor TO seckill");
    server_use_database(postgres_conninfo(here.primary, NULL, NULL));
    return 0;
}

static int stop(void **state)
{
    witness_close(here.witness);
    return postgres_teardown(state);
}

/* What is never proven costs all of the time; NULL: the default. */
static void start_servers(const char *standbys, const char *timeout_ms)
{
    postgres_set(here.primary, "synchronous_standby_names", "second");
    here.control = server_start(NULL);
    server_use_failpoints("probe.commit=fail@1+");
    here.counts = server_start("--standbys", standbys, "--work-timeout-ms", timeout_ms);
    server_use_failpoints(NULL);
}

static int end(void **state)
{
    return server_teardown(state);
}

static int end_with_redis(void **state)
{
    return server_teardown(state) | redis_own_teardown(state);
}

static void stop_servers(void)
{
    server_stop(here.counts);
    server_stop(here.control);
}

/* One order of each way that is still asked for, each of a product of its own. One whose time was
 * over before its COMMIT is asked for again; how many are. */
static int expect_answers(struct server *server, bool asked[WAYS], int status, const char *code)
{
    struct crowd *crowd = crowd_create();
    int left = 0;

    for (int i = 0; i < WAYS; i++) {
        struct buy buy = {.strategy = ways[i].strategy,
                          .more = ways[i].more,
                          .key = ways[i].key,
                          .product = i + 1,
                          .user = ++here.user};
        if (asked[i])
            shop_crowd_buy(crowd, server, &buy);
    }
    crowd_answers(crowd, PATIENCE_US);
    if (crowd_count(crowd, status, code) + crowd_count(crowd, 503, NULL) != crowd_size(crowd))
        fail_msg("%s: %s", server == here.counts ? "the server" : "the control",
                 crowd_summary(crowd));
    for (int i = 0, call = 0; i < WAYS; i++) {
        if (asked[i])
            asked[i] = crowd_at(crowd, call++)->reply.status == 503;
        left += asked[i];
    }
    crowd_destroy(crowd);
    return left;
}

/* The control answers 201 to the same. */
static void expect_each(int status, const char *code)
{
    bool asked[WAYS], asked_control[WAYS];

    for (int i = 0; i < WAYS; i++) {
        asked[i] = asked_control[i] = true;
        shop_put(here.control, i + 1, STOCK, NULL);
    }
    T_UNTIL(expect_answers(here.counts, asked, status, code) == 0);
    T_UNTIL(expect_answers(here.control, asked_control, 201, "") == 0);
}

TEST(a_named_standby_counts)
{
    start_servers("1", NULL);
    expect_each(201, "");
    postgres_set(here.primary, "synchronous_standby_names", "FIRST 1 (third, \"SECOND\")");
    expect_each(201, "");
    stop_servers();
}

TEST(emptied_names_make_no_201)
{
    start_servers("1", "2000");
    postgres_set(here.primary, "synchronous_standby_names", NULL);
    expect_each(504, "outcome_unknown");
    stop_servers();
}

TEST(a_stranger_makes_no_201)
{
    start_servers("1", "2000");
    postgres_set(here.primary, "synchronous_standby_names", "*");
    expect_each(504, "outcome_unknown");
    stop_servers();
}

/* A second standby is asked for, and is not there. */
TEST(fewer_make_no_201)
{
    start_servers("2", "2000");
    expect_each(504, "outcome_unknown");
    stop_servers();
}

static void wait_confirmed(int64_t product)
{
    int64_t since_us = clock_mono_us();

    while (witness_number(here.witness,
                          "SELECT count(*) FROM orders WHERE product_id = %lld AND status = 1",
                          (long long)product) == 0)
        t_wait(since_us, "the order of product %lld is not confirmed", (long long)product);
}

/* Two standbys are asked for. An accepted order is committed, and its store keeps it all the same,
 * for the next primary. */
TEST_WITH(what_was_accepted_is_kept, NULL, end_with_redis)
{
    const struct redis_own *redis =
        redis_own_start((const char *const[]){"--appendonly", "yes", NULL});
    struct buy buys[] = {{.strategy = "redis-stock", .product = 1, .user = ++here.user},
                         {.strategy = "partitioned-queue",
                          .more = "&wait_ms=4000",
                          .product = 2,
                          .user = ++here.user}};
    char url[64];

    snprintf(url, sizeof url, "redis://127.0.0.1:%d/0", redis_own_port(redis));
    postgres_set(here.primary, "synchronous_standby_names", "second");
    server_use_failpoints("probe.commit=fail@1+");
    here.counts =
        server_start("--standbys", "2", "--stock-redis", url, "--system-name", "standbys");
    server_use_failpoints(NULL);
    for (int i = 0; i < 2; i++) {
        shop_put(here.counts, buys[i].product, STOCK, NULL);
        struct http_reply reply = shop_send(here.counts, &buys[i]);
        if (reply.status != 202)
            fail_msg("%s: %d %s", buys[i].strategy, reply.status, reply.body);
        http_reply_fini(&reply);
        wait_confirmed(buys[i].product);
    }
    T_UNTIL(server_metric(here.counts, "seckill_redis_stock_oldest_undecided_seconds", "") >= 3);
    server_stop(here.counts);
}

TEST_WITH(readiness_says_why, NULL, end)
{
    struct buy buy = {.strategy = "conditional", .product = 1, .user = ++here.user};

    postgres_set(here.primary, "synchronous_standby_names", "second");
    here.control = here.counts = server_start("--standbys", "1");
    server_wait_ready(here.counts, 200, "seen on that of 1 named standbys");
    shop_put(here.counts, buy.product, STOCK, NULL);
    postgres_set(here.primary, "synchronous_standby_names", NULL);
    server_wait_ready(here.counts, 503, "fewer standbys of synchronous_standby_names");
    shop_expect_buy(here.counts, &buy, 503, "backend_unavailable", NULL);
    witness_run(here.witness, "REVOKE pg_monitor FROM seckill");
    server_wait_ready(here.counts, 503, "GRANT pg_monitor");
    witness_run(here.witness, "GRANT pg_monitor TO seckill");
    postgres_set(here.primary, "synchronous_standby_names", "second");
    server_wait_ready(here.counts, 200, NULL);
    shop_expect_buy_soon(here.counts, &buy, 201);
    server_stop(here.counts);
}

/* How many orders it has, once it is promoted. */
static int64_t confirmed_in(struct postgres *postgres)
{
    postgres_promote(postgres);
    struct witness *witness = witness_open(postgres_conninfo(postgres, "postgres", NULL));
    int64_t count = witness_number(witness, "SELECT count(*) FROM orders WHERE status = 1");
    witness_close(witness);
    return count;
}

/* Any of two is enough for a commit, and for the count: the one that was away lacks orders that
 * were answered with 201, and must not be promoted without a look at their positions. */
TEST_WITH(of_any_two_one_has_it, NULL, end)
{
    struct postgres *primary = postgres_create(NULL);
    struct postgres *away = postgres_standby(primary, "away");
    struct postgres *there = postgres_standby(primary, "there");
    struct buy buy = {.strategy = "conditional", .product = 1};

    postgres_run(primary, NULL, "GRANT pg_monitor TO seckill");
    postgres_set(primary, "synchronous_standby_names", "ANY 1 (away, there)");
    struct server *server =
        server_start("--standbys", "1", "--database", postgres_conninfo(primary, NULL, NULL));
    shop_put(server, buy.product, STOCK, NULL);
    postgres_stop(away);
    while (buy.user++ < 3)
        shop_expect_buy_soon(server, &buy, 201);
    server_stop(server);
    postgres_kill(primary);
    postgres_start(away);
    assert_int_equal(confirmed_in(away), 0);
    assert_int_equal(confirmed_in(there), 3);
}

TEST_GROUP(start, stop)
TEST_EACH(NULL, end)
