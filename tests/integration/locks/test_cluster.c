/*
 * The locks on a Redis Cluster of three primaries with a replica each: while slots go from node to
 * node, and while a primary dies. What each strategy does there otherwise, the programs of one
 * Redis ask again (CMakeLists.txt).
 */
#include "lib/fixtures/contenders.h"
#include "lib/redis/redis_cluster.h"
#include "lib/stack.h"
#include "lib/t.h"

#include "base/clock.h"
#include "lock/renewer.h"
#include "redis/cluster/slot.h"
#include "settings/settings.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *strategy;
    const char *lock;
} rows[] = {
    {"redis-setnx", "redis-setnx"},
    {"redis-getset", "redis-getset"},
    {"redis-expiry", "redis-expiry"},
    {"redis-uuid", "redis-uuid"},
    {"redis-token", "redis-token"},
    {"redis-reentrant", "redis-reentrant"},
    {"redis-watchdog", "redis-watchdog"},
    {"redis-fenced", "redis-token"},
    {"wllock", "wllock"},
    {"redis-queue", "redis-fair"},
};
enum { ROWS = sizeof rows / sizeof *rows, PARTED_US = 3000000 /* more than a lock's call takes */ };

/* Of the lock on the present product. */
static int slot_of(int row)
{
    return redis_slot(
        t_text("seckill:lock:%s:%lld", rows[row].lock, (long long)contenders.product));
}

static struct server *start(const char *failpoints)
{
    return contender_start(failpoints, "60000", "50000");
}

TEST(slots_are_those_that_redis_reckons)
{
    static const char *const keys[] = {"",        "a",    "{}",        "{}a",  "a{b}c", "{a",
                                       "a}b{c}d", "{{a}", "a{b}c{d}e", "{a}{", "京{东}"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_int_equal(redis_slot(keys[i]), cluster_keyslot(keys[i]));
    for (int i = 0; i < 50; i++) {
        const char *key = t_text("seckill:lock-queue:{seckill:lock:redis-fair:%d}", i * 7919);
        assert_int_equal(redis_slot(key), cluster_keyslot(key));
    }
}

TEST(a_slot_that_has_moved_is_followed)
{
    struct server *a = start(NULL);

    for (int i = 0; i < ROWS; i++) {
        contenders_put(a, 10);
        contender_buys(a, rows[i].strategy, 1);
        cluster_move(slot_of(i));
        contender_buys(a, rows[i].strategy, 2);
        witness_expect_exact(contenders.witness, contenders.product);
    }
    server_stop(a);
}

/* A lock of one key is taken where its slot goes. One of several waits until it is there. */
TEST(a_slot_on_its_way_is_asked_for)
{
    struct server *a = start(NULL);

    for (int i = 0; i < ROWS - 1; i++) {
        contenders_put(a, 10);
        int slot = slot_of(i);
        int from = cluster_owner(slot);
        int to = cluster_other(from);
        cluster_begin_move(slot, from, to);
        contender_buys(a, rows[i].strategy, 1);
        cluster_end_move(slot, from, to);
        contender_buys(a, rows[i].strategy, 2);
        witness_expect_exact(contenders.witness, contenders.product);
    }
    server_stop(a);
}

TEST(keys_that_have_parted_are_waited_for)
{
    struct server *a = start(NULL);

    contenders_put(a, 10);
    contender_buys(a, "redis-queue", 1);
    int slot = slot_of(ROWS - 1);
    int from = cluster_owner(slot);
    int to = cluster_other(from);
    cluster_tell(to, "CONFIG RESETSTAT");
    cluster_begin_move(slot, from, to);
    struct crowd *waits = contender_begin(a, "redis-queue", 2);
    T_UNTIL(strstr(cluster_tell(to, "INFO errorstats"), "TRYAGAIN"));
    assert_false(crowd_wait(waits, 1, clock_mono_us() + PARTED_US));
    cluster_end_move(slot, from, to);
    contender_finish(waits, 201, "");
    witness_expect_exact(contenders.witness, contenders.product);
    server_stop(a);
}

/* Whether somebody sleeps until the lock is free. */
static bool is_waited_for(int row, int port)
{
    if (strcmp(rows[row].strategy, "redis-queue") == 0)
        return strstr(cluster_tell(port, "INFO clients"), "blocked_clients:1");
    const char *channel = t_text("seckill:lock-free:{seckill:lock:%s:%lld}", rows[row].lock,
                                 (long long)contenders.product);
    return strcmp(cluster_tell(port, "PUBSUB SHARDNUMSUB %s", channel), "1") == 0;
}

/* A holds the lock for a minute, B waits for its release: forty seconds, if it is not told. */
static void wake_after_a_move(int row)
{
    struct server *a = start("lock.acquired=stop");
    struct server *b = start(NULL);

    contenders_put(b, 10);
    int slot = slot_of(row);
    int from = cluster_owner(slot);
    int to = cluster_other(from);
    struct crowd *first = contender_begin(a, rows[row].strategy, 1);
    server_wait_stopped(a);
    struct crowd *second = contender_begin(b, rows[row].strategy, 2);
    T_UNTIL(is_waited_for(row, from));
    cluster_begin_move(slot, from, to);
    cluster_end_move(slot, from, to);
    T_UNTIL(is_waited_for(row, to));
    int64_t resumed_us = clock_mono_us();
    server_resume(a);
    contender_finish(first, 201, "");
    contender_finish(second, 201, "");
    assert_true(clock_mono_us() - resumed_us < 20 * CLOCK_US_PER_S);
    witness_expect_exact(contenders.witness, contenders.product);
    server_stop(a);
    server_stop(b);
}

TEST(a_waiter_is_woken_where_the_channel_has_gone)
{
    wake_after_a_move(6);
}

TEST(a_waiter_is_woken_where_the_list_has_gone)
{
    wake_after_a_move(9);
}

/* Buyers who were put off because keys were on their way come again. */
static void sell_out(struct server *server, const char *strategy, int64_t stock)
{
    int64_t until_us = clock_mono_us() + CONTENDERS_PATIENCE_US;
    int status = 0;

    for (int64_t user = 1000; status != 409; user++) {
        struct buy buy = contender_order(strategy, user);
        struct http_reply reply = shop_buy(server, &buy);
        status = reply.status;
        if ((status != 201 && status != 409 && status != 503) || clock_mono_us() >= until_us)
            fail_msg("%s: %d %s", strategy, status, reply.body);
        http_reply_fini(&reply);
    }
    assert_int_equal(witness_sale(contenders.witness, contenders.product).sold, stock);
    witness_expect_exact(contenders.witness, contenders.product);
}

TEST(a_sale_is_exact_while_its_slot_goes_round)
{
    enum { STOCK = 20, BUYERS = 32, MOVES_LEAST = 3 };
    struct server *servers[] = {start(NULL), start(NULL)};

    for (int i = 0; i < ROWS; i++) {
        contenders_put(servers[0], STOCK);
        struct crowd *crowd = crowd_create();
        for (int k = 0; k < BUYERS; k++) {
            struct buy buy = contender_order(rows[i].strategy, k + 1);
            shop_crowd_buy(crowd, servers[k % 2], &buy);
        }
        crowd_send(crowd);
        int64_t until_us = clock_mono_us() + CONTENDERS_PATIENCE_US;
        for (int moves = 0;
             moves < MOVES_LEAST || !crowd_wait(crowd, BUYERS, clock_mono_us() + 5000); moves++) {
            assert_true(clock_mono_us() < until_us);
            cluster_move(slot_of(i));
        }
        if (crowd_count(crowd, 201, "") + crowd_count(crowd, 409, "sold_out") +
                crowd_count(crowd, 503, NULL) !=
            BUYERS)
            fail_msg("%s: %s", rows[i].strategy, crowd_summary(crowd));
        crowd_destroy(crowd);
        sell_out(servers[0], rows[i].strategy, STOCK);
    }
    server_stop(servers[0]);
    server_stop(servers[1]);
}

TEST(a_node_that_has_forgotten_its_scripts_gets_them_again)
{
    int ports[CLUSTER_PRIMARIES];
    struct server *a = start(NULL);

    contenders_put(a, 10);
    contender_buys(a, "redis-token", 1);
    cluster_primaries(ports);
    for (int i = 0; i < CLUSTER_PRIMARIES; i++)
        cluster_tell(ports[i], "SCRIPT FLUSH");
    contender_buys(a, "redis-token", 2);
    T_UNTIL(strcmp(cluster_tell(cluster_owner(slot_of(4)), "EXISTS seckill:lock:redis-token:%lld",
                                (long long)contenders.product),
                   "0") == 0);
    server_stop(a);
}

/* A new product whose lock is with this primary, or with another one. */
static int64_t put_at(struct server *server, int row, int port, bool there)
{
    do
        contenders.product++;
    while ((cluster_owner(slot_of(row)) == port) != there);
    shop_put(server, contenders.product, 10, NULL);
    return contenders.product;
}

static void expect_one(struct server *server, const char *strategy, int64_t product)
{
    struct buy buy = contender_order(strategy, 1);

    buy.product = product;
    shop_expect_buy_soon(server, &buy, 201);
    witness_expect_exact(contenders.witness, product);
}

/* The one that --redis names, at that. */
TEST(a_primary_that_dies_takes_its_own_locks_along)
{
    struct server *a = start(NULL);
    int victim = cluster_seed();
    int64_t here[ROWS];
    int64_t elsewhere[ROWS];

    for (int i = 0; i < ROWS; i++) {
        here[i] = put_at(a, i, victim, true);
        elsewhere[i] = put_at(a, i, victim, false);
    }
    contenders.product = here[4];
    int slot = slot_of(4);
    server_wait_ready(a, 200, "\"name\": \"redis\", \"up\": true");
    cluster_be_patient(10000); /* enough for what is to be seen until then */
    cluster_signal(victim, SIGKILL);
    struct buy buy = contender_order(rows[4].strategy, 2);
    shop_expect_buy(a, &buy, 503, "backend_unavailable", NULL);
    for (int i = 0; i < ROWS; i++) {
        struct buy other = contender_order(rows[i].strategy, 1);
        other.product = elsewhere[i];
        shop_expect_buy(a, &other, 201, "", NULL);
    }
    server_wait_ready(a, 200, t_text("1 of the cluster's 3 primaries: 127.0.0.1:%d: ", victim));
    for (int i = 0; i < ROWS; i++)
        expect_one(a, rows[i].strategy, here[i]);
    assert_int_not_equal(cluster_owner(slot), victim);
    server_wait_ready(a, 200, "\"name\": \"redis\", \"up\": true");
    server_stop(a);
}

/* A lock on a product, with this primary or not. */
static void own(struct lock_client *client, int port, bool there, struct lease *lease)
{
    int64_t key = 1;

    while ((cluster_owner(redis_slot(t_text("%s:lock:redis-watchdog:%lld",
                                            client->settings->system_name, (long long)key))) ==
            port) != there)
        key++;
    assert_int_equal(lock_acquire(&lock_redis_watchdog, client, key, true, clock_mono_us(), lease),
                     LOCK_OWNED);
}

/* Whether a lease was renewed although the first to be due hung: that one's renewal waits for a
 * third of a lease each time, until it ends. */
static bool renews_beside(struct lock_client *client, int frozen)
{
    static struct lease hangs;
    static struct lease lives;

    own(client, frozen, true, &hangs);
    own(client, frozen, false, &lives);
    int64_t ends_us = atomic_load(&lives.valid_until_us);
    cluster_signal(frozen, SIGSTOP);
    clock_sleep_until(ends_us - client->settings->lock_ttl_ms / 6 * CLOCK_US_PER_MS);
    bool renewed = atomic_load(&lives.valid_until_us) > ends_us;
    stack_restore(NULL);
    lock_redis_watchdog.release(client, &hangs, clock_mono_us() + CLOCK_US_PER_S);
    lock_redis_watchdog.release(client, &lives, clock_mono_us() + CLOCK_US_PER_S);
    return renewed;
}

/* On a machine that stood still meanwhile it is tried once more. */
TEST(a_frozen_primary_keeps_no_other_lease_from_being_renewed)
{
    struct settings settings = {.system_name = "cluster-test", .lock_ttl_ms = 9000};
    struct error error;
    int ports[CLUSTER_PRIMARIES];
    int64_t until_us = clock_mono_us() + t_patience_us();
    bool renewed = false;

    struct redis_server *server = redis_server_create(stack_cluster(), "", &error);
    assert_true(server && redis_server_allow_cluster(server));
    struct lock_client client = {.redis = redis_create(server), .settings = &settings};
    client.renewer = renewer_create(server, &settings);
    assert_true(redis_connect(client.redis, until_us) && redis_survey(client.redis, until_us));
    cluster_primaries(ports);
    cluster_be_patient(60000); /* no failover meanwhile */
    while (!renewed && clock_mono_us() < until_us)
        renewed = renews_beside(&client, ports[1]);
    renewer_destroy(client.renewer);
    redis_destroy(client.redis);
    redis_server_destroy(server);
    assert_true(renewed);
}

static int end_test(void **state)
{
    return server_teardown(state);
}

TEST_EACH(cluster_restore, end_test)

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    server_use_redis(stack_cluster());
    contenders_open("lock_cluster");
    int failed = t_run_all(NULL, stack_restore);
    contenders_close();
    return failed != 0;
}
