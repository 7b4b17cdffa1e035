/*
 * The end of holds when things go wrong: payments that come between, instances that die with what
 * they have taken on, rows that somebody holds, backends that are gone, and an older schema.
 *
 * What PostgreSQL decides once is forced: a row is held at the place where the two sides meet.
 */
#include "lib/fixtures/outcome.h"
#include "lib/fixtures/shop.h"
#include "lib/stack.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "base/clock.h"
#include "postgres/pg.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATABASE "seckill_unpaid"
#define EXPIRES  "kind=\"expire\",outcome=\"expired\""
#define HOLD     ", \"hold_s\": 3600"

enum { HELD = 1, OTHER = 2, PLAIN = 3, MIRRORED = 4, LAST = MIRRORED };

static char *conninfo; /* owned */
static struct witness *witness;

static void buy_pending(struct server *server, int64_t product, const char *strategy, int64_t user,
                        char id[SHOP_ID_SIZE])
{
    struct buy buy = {.strategy = strategy, .product = product, .user = user, .members = HOLD};

    shop_expect_buy(server, &buy, 201, "", id);
    shop_wait_status(server, id, "pending");
}

/* The holds of all orders are over. */
static void end_holds(void)
{
    witness_run(witness, "UPDATE orders SET hold_until = clock_timestamp() - interval '1 ms',"
                         " expire_at = clock_timestamp() WHERE status = 4");
}

/* As long as they become fewer: many take their time on a busy machine. */
static void wait_none_pending(int64_t product)
{
    int64_t since_us = clock_mono_us();
    int64_t least = INT64_MAX;

    for (int64_t now; (now = witness_sale(witness, product).pending) > 0;) {
        if (now < least)
            since_us = clock_mono_us();
        least = now < least ? now : least;
        t_wait(since_us, "%lld orders of product %lld stay pending", (long long)now,
               (long long)product);
    }
}

/* So many are left, and every unit is somewhere. */
static void expect_units(int64_t product, int64_t stock, int64_t sold)
{
    struct sale sale = witness_sale(witness, product);

    assert_int_equal(sale.stock, stock);
    assert_int_equal(sale.sold, sold);
    assert_int_equal(sale.held, 0);
    witness_expect_exact(witness, product);
}

/* The transaction that gives the units back has read the order as pending and waits for the
 * product's row; the payment is committed meanwhile. Whether it has waited for so long. */
static bool is_paid_between(struct server *server, const char *id)
{
    int64_t before = server_metric(server, "seckill_orders_total", "kind=\"expire\"");
    struct witness *holder = witness_hold(conninfo, HELD);

    witness_run(witness, "UPDATE orders SET status = 4 WHERE id = '%s'", id);
    end_holds();
    witness_wait_blocked(witness, 1);
    witness_run(witness, "UPDATE orders SET status = 1 WHERE id = '%s'", id);
    witness_release(holder);
    T_UNTIL(server_metric(server, "seckill_orders_total", "kind=\"expire\"") > before);
    return server_metric(server, "seckill_orders_total",
                         "kind=\"expire\",outcome=\"not_cancellable\"") == 1;
}

TEST(a_payment_between_keeps_the_order)
{
    char id[SHOP_ID_SIZE];
    struct server *server = server_start(NULL);

    shop_put(server, HELD, 5, ", \"limit_per_user\": 1");
    buy_pending(server, HELD, "conditional", 1, id);
    T_UNTIL(is_paid_between(server, id));
    shop_wait_status(server, id, "confirmed");
    expect_units(HELD, 4, 1);
    assert_int_equal(
        witness_number(witness, "SELECT units FROM purchase WHERE product_id = %d", HELD), 1);
    server_stop(server);
}

/* Somebody else's trigger keeps one order as it is: the others end. */
TEST(one_that_is_withheld_stops_no_other)
{
    char kept[SHOP_ID_SIZE];
    char id[SHOP_ID_SIZE];
    struct server *server = server_start(NULL);

    shop_put(server, HELD, 5, NULL);
    shop_put(server, OTHER, 5, NULL);
    buy_pending(server, HELD, "conditional", 1, kept);
    buy_pending(server, OTHER, "conditional", 2, id);
    witness_run(witness, "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS"
                         " 'BEGIN RETURN NULL; END'");
    witness_run(witness, "CREATE TRIGGER keep BEFORE UPDATE ON orders FOR EACH ROW"
                         " WHEN (OLD.user_id = 1 AND OLD.hold_until <= now())"
                         " EXECUTE FUNCTION keep()");
    end_holds();
    shop_wait_status(server, id, "expired");
    T_UNTIL(server_says(server, "kept a row from being written: orders"));
    witness_run(witness, "DROP FUNCTION keep CASCADE");
    shop_wait_status(server, kept, "expired");
    expect_units(HELD, 5, 0);
    expect_units(OTHER, 5, 0);
    server_stop(server);
}

/* The payment waits for the order's row, which another transaction gives back. */
TEST(an_end_between_refuses_the_payment)
{
    char id[SHOP_ID_SIZE];
    struct server *server = server_start(NULL);
    struct crowd *crowd = crowd_create();

    shop_put(server, HELD, 5, NULL);
    buy_pending(server, HELD, "conditional", 1, id);
    struct witness *holder = witness_hold(conninfo, HELD);
    witness_run(holder, "UPDATE product SET stock = stock + 1 WHERE id = %d", HELD);
    witness_run(holder, "UPDATE orders SET status = 5 WHERE id = '%s'", id);
    shop_crowd_pay(crowd, server, id);
    crowd_send(crowd);
    witness_wait_blocked(witness, 1);
    witness_run(holder, "COMMIT");
    witness_close(holder);
    crowd_answers(crowd, t_patience_us());
    assert_int_equal(crowd_count(crowd, 409, "expired"), 1);
    crowd_destroy(crowd);
    shop_wait_status(server, id, "expired");
    expect_units(HELD, 5, 0);
    server_stop(server);
}

/* The payment has not found the order in PostgreSQL, for it was still in Redis; when that is asked
 * it has been decided. It is not too late for having been looked for in both. */
TEST(a_decision_between_two_looks_is_no_end)
{
    char id[SHOP_ID_SIZE];
    const struct buy buy = {
        .strategy = "redis-stock", .product = MIRRORED, .user = 2, .members = HOLD};
    struct server *server = server_start(NULL);
    struct crowd *crowd = crowd_create();

    shop_put(server, MIRRORED, 5, NULL);
    buy_pending(server, MIRRORED, "redis-stock", 1, id); /* the mirror is there from now on */
    server_use_failpoints("payment.elsewhere=stop");
    struct server *payer = server_start(NULL);
    server_use_failpoints(NULL);
    struct witness *holder = witness_hold(conninfo, MIRRORED);
    struct http_reply reply = shop_send(server, &buy);
    assert_int_equal(reply.status, 202);
    http_reply_text(&reply, "id", id, sizeof id);
    http_reply_fini(&reply);
    shop_crowd_pay(crowd, payer, id);
    crowd_send(crowd);
    server_wait_stopped(payer);
    witness_release(holder);
    shop_wait_status(server, id, "pending");
    server_resume(payer);
    crowd_answers(crowd, t_patience_us());
    assert_int_equal(crowd_count(crowd, 409, "expired"), 0); /* 200, or it was stopped too long */
    crowd_destroy(crowd);
    shop_expect_pay(server, id, 200, "");
    server_stop(payer);
    server_stop(server);
}

/* A hold is over by its time, though no sweeper has ended it yet; and one that is not over stays,
 * though a sweeper has taken it on. */
TEST(the_time_alone_decides)
{
    char id[SHOP_ID_SIZE];

    server_use_failpoints("sweeper.taken-on=hold");
    struct server *server = server_start(NULL);
    server_use_failpoints(NULL);
    shop_put(server, HELD, 5, NULL);
    buy_pending(server, HELD, "conditional", 1, id);
    end_holds();
    shop_expect_pay(server, id, 409, "expired");
    server_let_go(server);
    shop_wait_status(server, id, "expired");
    expect_units(HELD, 5, 0);

    buy_pending(server, HELD, "conditional", 2, id);
    witness_run(witness, "UPDATE orders SET expire_at = clock_timestamp() WHERE id = '%s'", id);
    T_UNTIL(server_metric(server, "seckill_orders_total",
                          "kind=\"expire\",outcome=\"cas_exhausted\"") >= 1);
    shop_expect_pay(server, id, 200, "");
    expect_units(HELD, 4, 1);
    server_stop(server);
}

/* It has taken them on, and dies before it has sent any of them to its lane. */
TEST(who_dies_leaves_them_to_the_next)
{
    enum { ORDERS = 8 };
    char ids[ORDERS][SHOP_ID_SIZE];

    server_use_failpoints("sweeper.taken-on=stop");
    struct server *first = server_start(NULL);
    server_use_failpoints(NULL);
    shop_put(first, HELD, ORDERS, ", \"limit_per_user\": 1");
    for (int i = 0; i < ORDERS; i++)
        buy_pending(first, HELD, i % 2 ? "batch" : "redis-stock", 1 + i, ids[i]);
    end_holds();
    server_wait_stopped(first);
    struct server *second = server_start(NULL);
    server_kill(first);
    wait_none_pending(HELD);
    server_wait_metric(second, "seckill_orders_total", EXPIRES, ORDERS);
    expect_units(HELD, ORDERS, 0);
    server_stop(second);
}

/* It dies in the middle of the transaction that gives the units back. */
TEST(who_dies_in_the_middle_gives_back_nothing_twice)
{
    char id[SHOP_ID_SIZE];
    struct server *first = server_start(NULL);

    shop_put(first, HELD, 3, NULL);
    buy_pending(first, HELD, "conditional", 1, id);
    struct witness *holder = witness_hold(conninfo, HELD);
    end_holds();
    witness_wait_blocked(witness, 1);
    struct server *second = server_start(NULL);
    server_kill(first);
    witness_release(holder);
    wait_none_pending(HELD);
    expect_units(HELD, 3, 0);
    shop_expect_pay(second, id, 409, "expired");
    server_stop(second);
}

/* Orders of four products and strategies, and every hold is over at once. */
TEST(two_share_the_work)
{
    enum { ORDERS = 60 };
    static const char *const names[] = {"conditional", "redis-token", "buckets", "redis-stock"};
    char id[SHOP_ID_SIZE];
    struct server *servers[] = {server_start(NULL), server_start(NULL)};

    for (int64_t product = 1; product <= LAST; product++) {
        shop_put(servers[0], product, ORDERS, ", \"limit_per_user\": 1");
        for (int i = 0; i < ORDERS; i++)
            buy_pending(servers[i % 2], product, names[product - 1], 1 + i, id);
    }
    end_holds();
    for (int64_t product = 1; product <= LAST; product++) {
        wait_none_pending(product);
        expect_units(product, ORDERS, 0);
    }
    T_UNTIL(server_metric(servers[0], "seckill_orders_total", EXPIRES) +
                server_metric(servers[1], "seckill_orders_total", EXPIRES) >=
            LAST * (int64_t)ORDERS);
    /* The mirror is right, too: all of it can be sold again. */
    for (int i = 0; i < ORDERS; i++)
        buy_pending(servers[i % 2], MIRRORED, "redis-stock", 1 + i, id);
    for (int i = 0; i < 2; i++)
        server_stop(servers[i]);
}

/* More than may be under way at once are due, of a product whose row somebody holds. */
TEST(a_held_row_stops_no_other_product)
{
    enum { MANY = 1500 };
    char id[SHOP_ID_SIZE];
    struct server *server = server_start(NULL);

    shop_put(server, HELD, MANY, NULL);
    shop_put(server, OTHER, 5, NULL);
    witness_run(witness,
                "INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status,"
                " created_at, hold_until, expire_at) SELECT gen_random_uuid(), id, epoch, n, 1,"
                " 'conditional', 4, now(), now() + interval '1 h', now() + interval '1 h'"
                " FROM product, generate_series(1, %d) AS n WHERE id = %d",
                MANY, HELD);
    witness_run(witness, "UPDATE product SET stock = 0 WHERE id = %d", HELD);
    struct witness *holder = witness_hold(conninfo, HELD);
    end_holds();
    witness_wait_blocked(witness, 1);
    buy_pending(server, OTHER, "conditional", 1, id);
    witness_run(witness,
                "UPDATE orders SET hold_until = clock_timestamp(), expire_at = clock_timestamp()"
                " WHERE id = '%s'",
                id);
    wait_none_pending(OTHER);
    expect_units(OTHER, 5, 0);
    assert_int_equal(witness_sale(witness, HELD).pending, MANY);
    witness_release(holder);
    wait_none_pending(HELD);
    expect_units(HELD, MANY, 0);
    server_stop(server);
}

/* An instance that has no Redis ends what needs none for it, and leaves the rest. */
TEST(a_backend_that_is_gone)
{
    char ids[3][SHOP_ID_SIZE];
    struct server *server = server_start(NULL);

    shop_put(server, HELD, 3, NULL);
    shop_put(server, PLAIN, 3, NULL);
    shop_put(server, MIRRORED, 3, NULL);
    buy_pending(server, HELD, "redis-queue", 1, ids[0]);
    buy_pending(server, PLAIN, "redis-token", 1, ids[1]);
    buy_pending(server, MIRRORED, "redis-stock", 1, ids[2]);
    server_stop(server);
    server = server_start("--redis", NULL, "--stock-redis", NULL);
    end_holds();
    shop_wait_status(server, ids[0], "expired");
    expect_units(HELD, 3, 0);
    shop_wait_status(server, ids[1], "pending"); /* a plain body may be at work elsewhere */
    shop_wait_status(server, ids[2], "pending"); /* it could not tell the mirror */
    struct server *whole = server_start(NULL);
    shop_wait_status(whole, ids[1], "expired");
    shop_wait_status(whole, ids[2], "expired");
    expect_units(PLAIN, 3, 0);
    expect_units(MIRRORED, 3, 0);
    server_stop(whole);
    server_stop(server);
}

TEST(the_servers_hold_is_the_last_word)
{
    static const char *const names[] = {"conditional", "pipelined",   "batch",
                                        "optimistic",  "redis-stock", "none"};
    char id[SHOP_ID_SIZE];
    struct server *server = server_start("--hold-s", "3600");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buy buy = {.strategy = names[i], .product = HELD, .user = 1};
        shop_put(server, HELD, 5, NULL);
        shop_expect_buy(server, &buy, 201, "", id);
        shop_wait_status(server, id, "pending");
        buy.members = ", \"hold_s\": 0";
        shop_expect_buy(server, &buy, 201, "", id);
        shop_wait_status(server, id, "confirmed");
        shop_put(server, HELD, 5, ", \"hold_s\": 0");
        buy.members = NULL;
        shop_expect_buy(server, &buy, 201, "", id);
        shop_wait_status(server, id, "confirmed");
    }
    server_stop(server);
}

/* The tables as the version before holds had them; three servers start at once. */
TEST(an_older_schema_is_brought_up_once)
{
    enum { SERVERS = 3, BEFORE = 6 };
    struct server *servers[SERVERS];
    char id[SHOP_ID_SIZE];

    witness_run(witness, "DROP SCHEMA seckill CASCADE");
    witness_run(witness, "CREATE SCHEMA seckill");
    witness_run(witness, "SET search_path = seckill");
    witness_run(witness, "CREATE TABLE seckill_schema (version integer NOT NULL)");
    for (int i = 0; i < BEFORE; i++)
        witness_run(witness, "DO $do$ BEGIN %s END $do$", sql_schema[i]);
    witness_run(witness, "INSERT INTO seckill_schema VALUES (%d)", BEFORE);
    witness_run(witness, "INSERT INTO product VALUES (%d, 'old', 9, 8, 1, NULL, NULL, 5, 1)", HELD);
    witness_run(witness,
                "INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status,"
                " created_at) VALUES (gen_random_uuid(), %d, 5, 1, 1, 'conditional', 1, now())",
                HELD);
    for (int i = 0; i < SERVERS; i++)
        servers[i] = server_launch((const char *const[]){NULL});
    for (int i = 0; i < SERVERS; i++)
        server_wait_ready(servers[i], 200, NULL);
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM seckill_schema WHERE version ="
                                             " (SELECT max(version) FROM seckill_schema)"),
                     1);
    buy_pending(servers[0], HELD, "conditional", 2, id);
    assert_int_equal(witness_sale(witness, HELD).held, 1);
    shop_expect_pay(servers[1], id, 200, "");
    expect_units(HELD, 7, 2);
    for (int i = 0; i < SERVERS; i++)
        server_stop(servers[i]);
}

static int setup(void **state)
{
    (void)state;
    conninfo = stack_database_create(DATABASE);
    server_use_database(conninfo);
    server_stop(server_start(NULL)); /* makes the tables */
    witness = witness_open(conninfo);
    return 0;
}

static int teardown(void **state)
{
    int left = server_teardown(state);

    server_use_failpoints(NULL);
    witness_close(witness);
    stack_database_drop(DATABASE);
    free(conninfo);
    return left;
}

TEST_EACH(setup, teardown)
