/*
 * redis-stock's Redis loses orders that it had accepted, as in a failover to a replica that had not
 * got them: the instance that accepted them ends them and says so, and nobody else's order is
 * ended.
 */
#include "lib/fixtures/stock_cluster.h"

#include "base/random/uuid.h"

#include <stdio.h>

enum { ORDERS = 3, WITHIN_US = 15000000 };

static int64_t audited_lost(struct server *server)
{
    char target[64];

    snprintf(target, sizeof target, "/products/%lld/audit", (long long)cluster.product);
    struct http_reply reply = server_call(server, "GET", target, NULL, NULL);
    assert_int_equal(reply.status, 200);
    assert_true(http_reply_bool(&reply, "consistent"));
    int64_t lost = http_reply_int(&reply, "lost");
    http_reply_fini(&reply);
    return lost;
}

static void wait_lost(struct server *server, const char *id)
{
    char status[16];
    char reason[64] = "";

    cluster_wait_status(server, id, "failed");
    cluster_status(server, id, status, reason);
    assert_string_equal(reason, "lost");
}

static int64_t rounds(struct server *server)
{
    return server_metric(server, "seckill_redis_stock_rounds_total", "");
}

/* What the writer had put off is gone from Redis. It is ended as soon as the row is free, not a
 * round later. */
TEST(what_redis_forgets_is_ended_and_said)
{
    char ids[ORDERS][SHOP_ID_SIZE];

    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 10, NULL);
    struct witness *hand = cluster_hold();
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = cluster_buy(1 + i, 2);
        cluster_accept(server, &buy, ids[i]);
    }
    T_UNTIL(cluster_claims("row_held") >=
            ORDERS); /* the writer does not have them in hand any more */
    cluster_redis("FLUSHALL");
    int64_t before = rounds(server);
    T_UNTIL(rounds(server) > before + 1);
    int64_t until_us = clock_mono_us() + WITHIN_US;
    witness_close(hand);
    for (int i = 0; i < ORDERS; i++)
        wait_lost(server, ids[i]);
    assert_true(clock_mono_us() < until_us);
    T_UNTIL(cluster_claims("lost") == ORDERS);
    T_UNTIL(server_says(server, "orders that were answered 202; they have failed (lost)"));
    assert_int_equal(audited_lost(server), 2 * ORDERS);
    struct buy buy = cluster_buy(1, 10); /* who lost may buy again, and all of it is there */
    shop_expect_buy(server, &buy, 201, "", NULL);
    cluster_expect_reconciled();
    cluster_stop_all();
}

static void forget_order(const char *id)
{
    const char *group = id + UUID_TEXT_LENGTH - UUID_GROUP_BITS / 4;
    char entry[64];

    cluster_redis_text(entry, sizeof entry, "HGET @waiting %s", group);
    assert_int_equal(cluster_redis("XDEL @orders %s", entry), 1);
    assert_int_equal(cluster_redis("HDEL @waiting %s %s:orders", group, group), 2);
}

/* Two orders wait for what their user has bought, and the product's row is free. */
TEST(what_still_waits_is_not_ended)
{
    char kept[SHOP_ID_SIZE];
    char lost[SHOP_ID_SIZE];

    cluster.product++;
    struct server *server = cluster_start(NULL, NULL);
    shop_put(server, cluster.product, 100, ", \"limit_per_user\": 5");
    struct buy buy = cluster_buy(1, 1);
    shop_expect_buy(server, &buy, 201, "", NULL);
    struct witness *hand = witness_open(cluster.conninfo);
    witness_run(hand, "BEGIN");
    witness_run(hand, "SELECT 1 FROM purchase WHERE user_id = %lld FOR UPDATE",
                (long long)buy.user);
    cluster_accept(server, &buy, kept);
    cluster_accept(server, &buy, lost);
    T_UNTIL(cluster_claims("lock_held") >= 2);
    forget_order(lost);
    wait_lost(server, lost);
    T_UNTIL(cluster_claims("lost") == 1);
    cluster_expect_status(server, kept, "queued");
    witness_close(hand);
    cluster_wait_status(server, kept, "confirmed");
    T_UNTIL(cluster_redis("EXISTS @mirror:%lld", (long long)cluster.product) ==
            0); /* it was one short */
    cluster_expect_settled();
    assert_int_equal(witness_sale(cluster.witness, cluster.product).stock, 98);
    cluster_stop_all();
}

static void refuse_sales(void)
{
    witness_run(cluster.witness,
                "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS"
                " $$BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '53100'; END$$");
    witness_run(cluster.witness, "CREATE TRIGGER no BEFORE INSERT ON orders FOR EACH ROW"
                                 " WHEN (NEW.status = 1) EXECUTE FUNCTION no()");
}

/* PostgreSQL has refused, so the hand-over is closed: the second order has never been in the
 * writer's hand. */
TEST(what_no_writer_has_seen_is_ended)
{
    char ids[2][SHOP_ID_SIZE];

    cluster.product++;
    struct server *server = cluster_start("stock-writer-committed=hold@2", NULL);
    shop_put(server, cluster.product, 10, NULL);
    refuse_sales();
    struct buy buy = cluster_buy(1, 1);
    cluster_accept(server, &buy, ids[0]);
    T_UNTIL(cluster_claims("put_off") >= 2); /* it is held there */
    buy.user++;
    cluster_accept(server, &buy, ids[1]);
    cluster_redis("FLUSHALL");
    witness_run(cluster.witness, "DROP FUNCTION no() CASCADE");
    server_let_go(server);
    for (int i = 0; i < 2; i++)
        wait_lost(server, ids[i]);
    T_UNTIL(cluster_claims("lost") == 2);
    cluster_expect_reconciled();
    cluster_stop_all();
}

/* A writer goes a round after it has written. */
static void go_a_round(struct server *server, int64_t user)
{
    int64_t before = rounds(server);
    struct buy buy = cluster_buy(user, 1);

    buy.product = CLUSTER_OTHER_PRODUCT;
    shop_expect_buy(server, &buy, 201, "", NULL);
    T_UNTIL(rounds(server) > before);
}

/* Frozen with an order that it has put off, which another one has confirmed since. */
TEST(what_another_has_decided_is_not_lost)
{
    char id[SHOP_ID_SIZE];

    cluster.product++;
    struct server *first = cluster_start(NULL, NULL);
    struct server *second = cluster_start(NULL, NULL);
    shop_put(first, cluster.product, 10, NULL);
    shop_put(first, CLUSTER_OTHER_PRODUCT, 10, NULL);
    struct witness *hand = cluster_hold();
    struct buy buy = cluster_buy(1, 3);
    cluster_accept(first, &buy, id);
    T_UNTIL(cluster_claims("row_held") > 0);
    server_pause(first);
    T_UNTIL(server_says(second, "took over"));
    witness_close(hand);
    cluster_wait_status(second, id, "confirmed");
    server_resume(first);
    go_a_round(first, 2); /* one may be on its way */
    go_a_round(first, 3);
    assert_int_equal(cluster_claims("lost"), 0);
    cluster_expect_status(first, id, "confirmed");
    assert_int_equal(audited_lost(first), 0);
    cluster_expect_reconciled();
    cluster_stop_all();
}

static int teardown(void **state)
{
    witness_run(cluster.witness, "DROP FUNCTION IF EXISTS no() CASCADE");
    return cluster_teardown(state);
}

TEST_EACH(NULL, teardown)

int main(void)
{
    cluster_begin("redis_stock_lost");
    int failed = t_run_all(NULL, NULL);
    cluster_end("redis_stock_lost");
    return failed != 0;
}
