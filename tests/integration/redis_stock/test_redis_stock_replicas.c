/*
 * --stock-redis-replicas: what was answered 202 is at the replica that a failover makes the next
 * primary. Each test has a primary and a replica of its own, and a relay between them that keeps
 * what it is given: a link that stalls. Then the primary dies, and what the relay has dies with it.
 *
 * The products' rows are held, so that no writer saves in PostgreSQL what Redis forgets.
 * This needs Redis 7.2 (CMakeLists.txt); what becomes of an older one: integration.redis_stock_old.
 */
#include "lib/fixtures/shop.h"
#include "lib/redis/redis_own.h"
#include "lib/stack.h"
#include "lib/witness.h"

#include "lib/t.h"

#include "base/clock.h"
#include "loadtest/relay/relay.h"

#include <stdlib.h>
#include <string.h>

enum { STOCK = 100, ORDERS = 5, WITHIN_US = 20000000, CONTROL = 1, COUNTED = 2, FIRST = 3 };

static struct {
    char *conninfo; /* owned */
    struct witness *witness;
    struct redis_own *primary;
    struct redis_own *replica;
    struct relay *relay; /* owned */
    char url[2][64];     /* the primary's, the replica's */
    int64_t user;
} here;

static struct buy buy_of(int64_t product, int64_t user)
{
    return (struct buy){.strategy = "redis-stock", .product = product, .user = user};
}

/* At the primary, or at what was its replica; an order whose 202 is not proven costs all of its
 * time.
 */
static struct server *start_at(int which, const char *replicas, const char *failpoints,
                               const char *work_ms)
{
    server_use_failpoints(failpoints);
    struct server *server = server_start("--stock-redis", here.url[which], "--stock-redis-replicas",
                                         replicas, "--work-timeout-ms", work_ms, "--lock-ttl-ms",
                                         "90000", "--system-name", "replicas");
    server_use_failpoints(NULL);
    return server;
}

static bool ready_says(struct server *server, const char *words)
{
    struct http_reply reply = server_call(server, "GET", "/readyz", NULL, NULL);
    bool says = strstr(reply.body, words) != NULL;

    http_reply_fini(&reply);
    return says;
}

static int answers(struct server *server, const struct buy *buy)
{
    struct http_reply reply = shop_send(server, buy);
    int status = reply.status;

    http_reply_fini(&reply);
    return status;
}

static bool accepts(struct server *server)
{
    struct buy buy = buy_of(FIRST, ++here.user);

    return answers(server, &buy) == 202;
}

/* The replica flushes once it has all that the primary had, and has written that down. */
static struct server *start_working(const char *failpoints, const char *work_ms)
{
    struct server *server = start_at(0, "1", failpoints, work_ms);

    shop_put(server, FIRST, 1000000, NULL);
    T_UNTIL(accepts(server));
    return server;
}

static struct server *start(const char *failpoints)
{
    return start_working(failpoints, "2000");
}

static void stall(void)
{
    struct error error;

    for (int stream = 0; stream < 2; stream++)
        if (!relay_set(
                here.relay,
                &(struct relay_toxic){.type = RELAY_STALL, .stream = (enum relay_stream)stream},
                &error))
            fail_msg("%s", error.text);
}

static int begin(void **state)
{
    struct error error;

    (void)state;
    here.conninfo = stack_database_create("seckill_replicas");
    server_use_database(here.conninfo);
    here.primary = redis_own_start((const char *const[]){
        "--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0", NULL});
    const char *address = t_text("127.0.0.1:%d", redis_own_port(here.primary));
    here.relay = relay_start(RELAY_BYTES, NULL, address, &error);
    if (!here.relay)
        fail_msg("%s", error.text);
    here.replica = redis_own_start(
        (const char *const[]){"--appendonly", "yes", "--appendfsync", "always", "--replicaof",
                              "127.0.0.1", strrchr(relay_address(here.relay), ':') + 1, NULL});
    snprintf(here.url[0], sizeof here.url[0], "redis://%s", address);
    snprintf(here.url[1], sizeof here.url[1], "redis://127.0.0.1:%d", redis_own_port(here.replica));
    return 0;
}

static int end(void **state)
{
    int failed = server_teardown(state);

    relay_stop(here.relay);
    here.relay = NULL;
    witness_close(here.witness);
    here.witness = NULL;
    failed |= redis_own_teardown(state);
    server_use_database(NULL);
    stack_database_drop("seckill_replicas");
    free(here.conninfo);
    return failed;
}

TEST_EACH(begin, end)

static struct witness *put_and_hold(struct server *server, int64_t product)
{
    shop_put(server, product, STOCK, NULL);
    if (!here.witness)
        here.witness = witness_open(here.conninfo);
    return witness_hold(here.conninfo, product);
}

/* The primary is gone, with what the replica has not got; the replica is the next one. */
static struct server *fail_over(const char *replicas)
{
    redis_own_kill(here.primary);
    relay_stop(here.relay);
    here.relay = NULL;
    redis_own_tell(here.replica, NULL, "REPLICAOF NO ONE");
    struct server *server = start_at(1, replicas, NULL, "2000");
    server_wait_ready(server, 200, "\"name\": \"stock-redis\", \"up\": true");
    return server;
}

static void take_id(const struct crowd *crowd, int i, char id[SHOP_ID_SIZE])
{
    http_reply_text(&crowd_at(crowd, i)->reply, "id", id, SHOP_ID_SIZE);
}

/* All of them at once; each gets this status. */
static struct crowd *buy_all(struct server *server, int64_t product, int status)
{
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = buy_of(product, 1 + i);
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_answers(crowd, WITHIN_US);
    if (crowd_count(crowd, status, NULL) != ORDERS)
        fail_msg("product %lld: %s", (long long)product, crowd_summary(crowd));
    return crowd;
}

static int order_status(struct server *server, const char *id)
{
    return server_status(server, "GET", t_text("/orders/%s", id), NULL, NULL);
}

/* As it comes: nobody waits for what a 202 becomes. */
static void expect(struct server *server, const struct buy *buy, int status, char id[SHOP_ID_SIZE])
{
    struct http_reply reply = shop_send(server, buy);

    if (reply.status != status)
        fail_msg("%d instead of %d: %s", reply.status, status, reply.body);
    if (id)
        http_reply_text(&reply, "id", id, SHOP_ID_SIZE);
    http_reply_fini(&reply);
}

/* 504, which names an order. */
static void expect_unknown(struct server *server, const struct buy *buy, char id[SHOP_ID_SIZE])
{
    struct http_reply reply = shop_send(server, buy);

    assert_int_equal(reply.status, 504);
    http_reply_text(&reply, "order_id", id, SHOP_ID_SIZE);
    http_reply_fini(&reply);
}

/* Without it the orders of the same seconds are accepted, and lost. */
TEST(what_a_stalled_replica_lacks_is_no_202)
{
    char id[SHOP_ID_SIZE];

    struct server *counts = start(NULL);
    struct server *control = start_at(0, "0", NULL, "2000");
    struct witness *rows[] = {put_and_hold(control, CONTROL), put_and_hold(counts, COUNTED)};
    stall();
    struct crowd *accepted = buy_all(control, CONTROL, 202);
    struct crowd *unknown = buy_all(counts, COUNTED, 504);
    server_kill(control);
    server_kill(counts);
    struct server *after = fail_over("0");
    for (int i = 0; i < ORDERS; i++) {
        take_id(accepted, i, id);
        assert_int_equal(order_status(after, id), 404);
    }
    for (int i = 0; i < 2; i++)
        witness_release(rows[i]);
    shop_expect_buy_soon(
        after, &(struct buy){.strategy = "conditional", .product = COUNTED, .user = 99}, 201);
    assert_int_equal(witness_sale(here.witness, COUNTED).stock, STOCK - 1);
    shop_expect_consistent(after, COUNTED);
    crowd_destroy(accepted);
    crowd_destroy(unknown);
    server_stop(after);
}

TEST(what_a_replica_has_survives)
{
    char id[SHOP_ID_SIZE];

    struct server *server = start_working(NULL, "60000");
    struct witness *row = put_and_hold(server, COUNTED);
    struct crowd *accepted = buy_all(server, COUNTED, 202);
    server_kill(server);
    struct server *after = fail_over("0");
    witness_release(row);
    for (int i = 0; i < ORDERS; i++) {
        take_id(accepted, i, id);
        shop_wait_status(after, id, "confirmed");
    }
    assert_int_equal(witness_sale(here.witness, COUNTED).stock, STOCK - ORDERS);
    witness_expect_exact(here.witness, COUNTED);
    crowd_destroy(accepted);
    server_stop(after);
}

/* What the writer brings into PostgreSQL meanwhile is more than a 202. */
TEST(where_the_replica_stalls_postgresql_answers)
{
    struct server *server = start_working(NULL, "60000");

    shop_put(server, COUNTED, ORDERS, NULL);
    here.witness = witness_open(here.conninfo);
    stall();
    crowd_destroy(buy_all(server, COUNTED, 201));
    assert_int_equal(witness_sale(here.witness, COUNTED).orders, ORDERS);
    struct buy buy = buy_of(COUNTED, ORDERS + 1);
    expect(server, &buy, 409, NULL);
    T_UNTIL(ready_says(server, "fewer replicas than --stock-redis-replicas asks for"));
    relay_clear(here.relay, RELAY_STALL);
    T_UNTIL(!ready_says(server, "fewer replicas"));
    server_stop(server);
}

/* A call whose answer is lost is asked after on another connection, which has written nothing. */
TEST(an_answer_that_was_lost_waits_as_well)
{
    struct server *server = start("stock-reply=fail@1+");
    struct witness *row = put_and_hold(server, COUNTED);
    struct buy buy = buy_of(COUNTED, 1);

    expect(server, &buy, 202, NULL);
    stall();
    buy.user++;
    expect(server, &buy, 504, NULL);
    witness_release(row);
    T_UNTIL(witness_sale(here.witness, COUNTED).orders == 2);
    server_stop(server);
}

/* A repeat through another instance, whose connection has written nothing. */
TEST(a_repeat_waits_as_well)
{
    char ids[2][SHOP_ID_SIZE];
    char unknown[SHOP_ID_SIZE];

    struct server *first = start(NULL);
    struct server *second = start(NULL);
    struct witness *row = put_and_hold(first, COUNTED);
    struct buy buy = buy_of(COUNTED, 1);
    buy.key = "again";
    stall();
    expect(first, &buy, 504, NULL);
    expect_unknown(second, &buy, unknown);
    relay_clear(here.relay, RELAY_STALL);
    T_UNTIL(answers(second, &buy) != 504);
    expect(second, &buy, 200, ids[0]);
    witness_release(row);
    shop_wait_status(first, ids[0], "confirmed");
    expect(first, &buy, 200, ids[1]);
    assert_string_equal(ids[0], ids[1]);
    assert_string_equal(unknown, ids[0]);
    assert_int_equal(witness_sale(here.witness, COUNTED).orders, 1);
    server_stop(first);
    server_stop(second);
}

/* The replica has it, and the primary's own file has not: both may fail at once. */
TEST(the_primarys_own_file_counts)
{
    struct server *server = start(NULL);
    struct witness *row = put_and_hold(server, COUNTED);
    struct buy buy = buy_of(COUNTED, 1);

    redis_own_tell(here.primary, NULL, "CONFIG SET appendfsync no");
    expect(server, &buy, 504, NULL);
    redis_own_tell(here.primary, NULL, "CONFIG SET appendfsync always");
    buy.user++;
    expect(server, &buy, 202, NULL);
    witness_release(row);
    server_stop(server);
}

static bool promises_failover(struct server *server)
{
    struct http_reply reply = server_call(server, "GET", "/strategies", NULL, NULL);
    const char *name = strstr(reply.body, "\"redis-stock\"");

    assert_non_null(name);
    const char *promise = strstr(name, "\"redis_failover\": ");
    assert_non_null(promise);
    bool kept = strncmp(strchr(promise, ' ') + 1, "true", 4) == 0;
    http_reply_fini(&reply);
    return kept;
}

TEST(the_promise_is_listed_and_needs_a_file)
{
    struct server *server = start(NULL);
    struct server *control = start_at(0, "0", NULL, "2000");
    struct buy buy = buy_of(COUNTED, 1);

    assert_true(promises_failover(server));
    assert_false(promises_failover(control));
    shop_put(server, COUNTED, STOCK, NULL);
    redis_own_tell(here.primary, NULL, "CONFIG SET appendonly no");
    T_UNTIL(ready_says(server, "set appendonly yes, there and at its replicas"));
    expect(server, &buy, 503, NULL);
    redis_own_tell(here.primary, NULL, "CONFIG SET appendonly yes");
    T_UNTIL(!ready_says(server, "appendonly"));
    T_UNTIL(!ready_says(server, "fewer replicas"));
    expect(server, &buy, 202, NULL);
    server_stop(server);
    server_stop(control);
}
