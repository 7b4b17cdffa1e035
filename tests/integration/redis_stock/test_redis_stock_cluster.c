/*
 * redis-stock on a Redis Cluster of three primaries with a replica each, its products in three
 * streams: while their slots go from node to node, and while a node is away. What it does there
 * otherwise, the programs of one Redis ask again (CMakeLists.txt).
 */
#include "lib/fixtures/stock_cluster.h"
#include "lib/redis/redis_cluster.h"
#include "lib/stack.h"

#include "strategies/redis_stock/stock_link.h"

#include <signal.h>
#include <stdlib.h>

enum { STREAMS = 3, STOCK = 80, BUYERS = 100, CALLS = STREAMS * BUYERS };
/* Nothing happens at it. */
#define IDLE "stock-reply=fail@1000000"

static struct stock_shards shards;
static int64_t first; /* the products are this and the next, one a stream, and as many again */

static struct server *start(const char *failpoints)
{
    return cluster_start_streams("3", failpoints);
}

static void put_all(struct server *server)
{
    struct settings settings = {.system_name = cluster.system};

    stock_shards_init(&shards, &settings, STREAMS);
    first = (cluster.product / STREAMS + 1) * STREAMS;
    cluster.product = first + STREAMS + STREAMS;
    for (int i = 0; i < 2 * STREAMS; i++)
        shop_put(server, first + i, STOCK, NULL);
}

/* The node that has the stream, and of the name's own keys: the leases. */
static int owner_of(int stream)
{
    return cluster_owner(shards.at[stream].slot);
}

static int slot_of_leases(void)
{
    return cluster_keyslot(t_text("{%s}", cluster.system));
}

static int owner_of_leases(void)
{
    return cluster_owner(slot_of_leases());
}

static struct buy buy_of(int stream, int64_t user)
{
    struct buy buy = cluster_buy(user, 1);

    buy.product = first + stream;
    return buy;
}

/* Each buyer wants one of every product, with a key that a second crowd has again. */
static struct crowd *send_crowd(struct server *const servers[2])
{
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < CALLS; i++) {
        struct buy buy = buy_of(i % STREAMS, i / STREAMS);
        buy.key = t_text("key-%d", i);
        shop_crowd_buy(crowd, servers[i / STREAMS % 2], &buy);
    }
    crowd_send(crowd);
    return crowd;
}

static int sold(int stream)
{
    return (int)witness_sale(cluster.witness, first + stream).sold;
}

/* A repeat of its key gets the order that was confirmed; then the rest is sold, and no unit more.
 */
static void finish(struct server *const servers[2], struct crowd *crowd)
{
    char id[SHOP_ID_SIZE];
    char again[SHOP_ID_SIZE];
    int64_t until_us = clock_mono_us() + CLUSTER_PATIENCE_US;

    crowd_finish(crowd, CLUSTER_PATIENCE_US);
    struct crowd *repeats = send_crowd(servers);
    crowd_finish(repeats, CLUSTER_PATIENCE_US);
    for (int i = 0; i < CALLS; i++) {
        const struct crowd_call *call = crowd_at(crowd, i);
        const struct crowd_call *repeat = crowd_at(repeats, i);
        if (call->reply.status != 201 || repeat->reply.status == 503)
            continue;
        http_reply_text(&call->reply, "id", id, sizeof id);
        http_reply_text(&repeat->reply, "id", again, sizeof again);
        assert_string_equal(id, again);
    }
    crowd_destroy(repeats);
    crowd_destroy(crowd);
    for (int i = 0; i < STREAMS; i++) {
        for (int64_t user = 1000; sold(i) < STOCK; user++) {
            struct buy buy = buy_of(i, user);
            struct http_reply reply = shop_buy(servers[0], &buy);
            http_reply_fini(&reply);
            assert_true(clock_mono_us() < until_us);
        }
        struct buy buy = buy_of(i, 999);
        shop_expect_buy_soon(servers[1], &buy, 409);
        assert_int_equal(sold(i), STOCK);
        witness_expect_exact(cluster.witness, first + i);
    }
}

TEST(a_sale_is_exact_while_its_slots_go_round)
{
    enum { MOVES_LEAST = 9 };
    struct server *const servers[] = {start(NULL), start(NULL)};
    int64_t until_us = clock_mono_us() + CLUSTER_PATIENCE_US;

    put_all(servers[0]);
    struct crowd *crowd = send_crowd(servers);
    for (int moves = 0; moves < MOVES_LEAST || !crowd_wait(crowd, CALLS, clock_mono_us() + 5000);
         moves++) {
        assert_true(clock_mono_us() < until_us);
        cluster_move(shards.at[moves % STREAMS].slot);
    }
    finish(servers, crowd);
    cluster_stop_all();
}

/* All keys that the call names are where the slot goes to, and the user's units are not. The last
 * try may go out too late for its answer: then the outcome is unknown, which is no order either. */
TEST(what_a_slot_has_sent_ahead_is_not_taken_for_all)
{
    struct server *server = cluster_start(NULL, NULL);
    char id[SHOP_ID_SIZE];

    cluster.product++;
    shop_put(server, cluster.product, STOCK, ", \"limit_per_user\": 1");
    struct buy buy = cluster_buy(1, 1);
    struct buy other = cluster_buy(2, 1);
    shop_expect_buy(server, &buy, 201, "", NULL);
    struct witness *holder = cluster_hold();
    cluster_accept(server, &other, id);
    int slot = cluster_keyslot(t_text("{%s}", cluster.system));
    int from = cluster_owner(slot);
    int to = cluster_other(from);
    cluster_begin_move(slot, from, to);
    cluster_move_some(slot, from, to, ":users:");
    buy.more = "&wait_ms=1000";
    struct http_reply reply = shop_send(server, &buy);
    assert_true(reply.status == 503 || reply.status == 504);
    http_reply_fini(&reply);
    cluster_end_move(slot, from, to);
    buy.more = NULL;
    shop_expect_buy(server, &buy, 409, "limit_reached", NULL);
    witness_release(holder);
    cluster_wait_status(server, id, "confirmed");
    cluster_expect_reconciled();
    cluster_stop_all();
}

/* Of the products that no crowd wants the others' are sold, and their orders written. */
static void expect_parted(struct server *server, int victim, int64_t user)
{
    int with = 0;

    server_wait_ready(server, 200,
                      t_text("1 of the cluster's 3 primaries: 127.0.0.1:%d: ", victim));
    for (int i = 0; i < STREAMS; i++) {
        struct buy buy = buy_of(STREAMS + i, user);
        bool is_victims = owner_of(i) == victim;
        with += is_victims;
        if (is_victims)
            shop_expect_buy(server, &buy, 503, "backend_unavailable", NULL);
        else
            shop_expect_buy_soon(server, &buy, 201);
    }
    assert_in_range(with, 1, STREAMS - 1);
}

/* It has the leases, too. */
TEST(a_primary_that_dies_takes_its_own_products_along)
{
    struct server *const servers[] = {start(NULL), start(NULL)};

    put_all(servers[0]);
    int victim = owner_of_leases();
    cluster_be_patient(15000); /* enough for what is to be seen until then */
    struct crowd *crowd = send_crowd(servers);
    assert_true(crowd_wait(crowd, CALLS / 4, clock_mono_us() + CLUSTER_PATIENCE_US));
    cluster_signal(victim, SIGKILL);
    expect_parted(servers[0], victim, 900);
    expect_parted(servers[1], victim, 901);
    finish(servers, crowd);
    server_wait_ready(servers[0], 200, "\"name\": \"stock-redis\", \"up\": true");
    cluster_stop_all();
}

TEST(an_instance_starts_while_a_node_hangs)
{
    struct server *a = start(NULL);
    int ports[CLUSTER_PRIMARIES];
    int victim = 0;

    put_all(a);
    cluster_primaries(ports);
    for (int i = 0; i < CLUSTER_PRIMARIES; i++)
        if (ports[i] != cluster_seed() && ports[i] != owner_of_leases())
            victim = ports[i];
    cluster_be_patient(60000); /* no failover meanwhile */
    cluster_signal(victim, SIGSTOP);
    struct server *b = start(IDLE);
    expect_parted(b, victim, 1);
    expect_parted(a, victim, 2);
    stack_restore(NULL);
    for (int i = 0; i < STREAMS; i++) {
        struct buy buy = buy_of(STREAMS + i, 3);
        shop_expect_buy_soon(b, &buy, 201);
        witness_expect_exact(cluster.witness, buy.product);
    }
    cluster_stop_all();
}

/* Whether the streams are open the leases' node alone knows. */
TEST(nothing_sells_before_the_streams_are_agreed_upon)
{
    if (owner_of_leases() == cluster_seed()) /* which a server that starts must reach */
        cluster_move(slot_of_leases());
    struct server *a = start(NULL);

    put_all(a);
    int victim = owner_of_leases(), elsewhere = 0;
    while (owner_of(elsewhere) == victim)
        elsewhere++;
    struct buy buy = buy_of(elsewhere, 1);
    cluster_be_patient(60000);
    cluster_signal(victim, SIGSTOP);
    struct server *b = start(IDLE);
    shop_expect_buy_soon(a, &buy, 201);
    buy.user++;
    shop_expect_buy(b, &buy, 503, "backend_unavailable", NULL);
    stack_restore(NULL);
    shop_expect_buy_soon(b, &buy, 201);
    cluster_stop_all();
}

TEST_EACH(cluster_restore, cluster_teardown)

int main(void)
{
    setenv("SECKILL_TEST_STOCK_REDIS", stack_cluster(), 1);
    cluster_begin("redis_stock_cluster");
    int failed = t_run_all(NULL, stack_restore);
    cluster_end("redis_stock_cluster");
    return failed != 0;
}
