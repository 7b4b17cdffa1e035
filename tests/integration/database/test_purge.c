/* What an ended sale left behind is cleared away, and nothing of the next one with it. */
#include "lib/fixtures/shop.h"
#include "lib/pg_proxy.h"
#include "lib/stack.h"
#include "lib/t.h"
#include "lib/witness.h"

#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define PATIENCE_US t_patience_us()

static const char not_deleted[] = "the rows of ended sales are not deleted";

static char *conninfo; /* owned */
static struct witness *holder;
static struct witness *witness;

static void wait_number(int64_t number, const char *sql)
{
    int64_t since_us = clock_mono_us();

    while (witness_number(witness, "%s", sql) != number)
        t_wait(since_us, "not %lld: %s", (long long)number, sql);
}

/* Thousands of products may end their sales with one PUT: not a transaction and a pause for each.
 */
TEST(small_sales_are_cleared_together)
{
    struct server *server = server_start(NULL);

    witness = witness_open(conninfo);
    int64_t before = witness_number(witness, "SELECT pg_current_xact_id()::text");
    witness_run(witness, "INSERT INTO retired SELECT n, 1 FROM generate_series(1001, 1300) AS n");
    wait_number(0, "SELECT count(*) FROM retired");
    int64_t after = witness_number(witness, "SELECT pg_current_xact_id()::text");
    assert_in_range(after - before, 2, 150); /* on a slow machine a piece has fewer */
    witness_close(witness);
    server_stop(server);
}

/* A hundred sales would take longer than a piece may, from so far away: it is committed with those
 * that it has after a while. */
TEST(far_away_fewer_are_cleared_together)
{
    enum { ROUND_TRIP_US = 25000 };
    char *folder = stack_socket_folder();
    struct pg_proxy *proxy = pg_proxy_create(folder);
    char *through = stack_database_through(conninfo, pg_proxy_folder(proxy));
    struct server *server = server_start("--database", through);

    witness = witness_open(conninfo);
    pg_proxy_far_away(proxy, ROUND_TRIP_US);
    witness_run(witness, "INSERT INTO retired SELECT n, 1 FROM generate_series(2001, 2080) AS n");
    wait_number(0, "SELECT count(*) FROM retired");
    assert_false(server_says(server, not_deleted));
    witness_close(witness);
    server_stop(server);
    pg_proxy_destroy(proxy);
    free(through);
    free(folder);
}

/* What one statement deletes takes too long, and all of it is undone: the next deletes less. */
TEST(what_takes_too_long_is_cleared_by_less)
{
    struct server *server = server_start(NULL);

    witness = witness_open(conninfo);
    witness_run(witness, "DROP FUNCTION IF EXISTS slowly CASCADE");
    witness_run(witness, "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS"
                         " 'BEGIN PERFORM pg_sleep(0.003); RETURN OLD; END'");
    witness_run(witness, "CREATE TRIGGER slowly BEFORE DELETE ON orders FOR EACH ROW"
                         " EXECUTE FUNCTION slowly()");
    shop_put(server, 5, 1, NULL);
    witness_run(witness,
                "INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status,"
                " created_at) SELECT gen_random_uuid(), id, epoch, n, 1, 'conditional', 1, now()"
                " FROM product, generate_series(1, 2000) AS n WHERE id = 5");
    shop_put(server, 5, 1, NULL);
    wait_number(0, "SELECT count(*) FROM orders WHERE product_id = 5");
    assert_true(server_says(server, not_deleted));
    witness_run(witness, "DROP FUNCTION slowly CASCADE");
    witness_close(witness);
    server_stop(server);
}

/* Somebody is about to take a user's row over for the new sale, and holds it: the purge passes it
 * by, and clears the rest away. It must not wait, because its own locks may be waited for by just
 * the one that it waits for: a buyer takes the user's row, and then the row of the Idempotency-Key.
 */
TEST(a_purge_leaves_the_new_sales_limits)
{
    struct server *server = server_start(NULL);
    struct buy buy = {.strategy = "conditional", .product = 1, .user = 1, .key = "cart"};

    holder = witness_open(conninfo);
    witness = witness_open(conninfo);
    shop_put(server, 1, 10, ", \"limit_per_user\": 3");
    shop_expect_buy(server, &buy, 201, "", NULL);
    witness_run(holder, "BEGIN");
    witness_run(holder, "UPDATE purchase SET epoch = epoch + 1, units = 3 WHERE product_id = 1");
    shop_put(server, 1, 10, ", \"limit_per_user\": 3");
    wait_number(0, "SELECT count(*) FROM orders");
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM retired"), 1);
    witness_run(holder, "COMMIT");
    wait_number(0, "SELECT count(*) FROM retired");
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM purchase"), 1);
    shop_expect_buy(server, &buy, 409, "limit_reached", NULL);
    witness_close(holder);
    witness_close(witness);
    server_stop(server);
}

/* Change data capture of a whole database: PostgreSQL refuses to change rows that have no identity.
 */
TEST(a_publication_of_all_tables_stops_no_purge)
{
    struct server *server = server_start(NULL);
    struct buy buy = {.strategy = "conditional", .product = 2, .user = 1};
    char superuser[256];
    char id[SHOP_ID_SIZE];
    char target[SHOP_ID_SIZE + 32];

    snprintf(superuser, sizeof superuser, "%s user=postgres", conninfo);
    witness = witness_open(superuser);
    witness_run(witness, "CREATE PUBLICATION everything FOR ALL TABLES");
    shop_put(server, 2, 10, ", \"limit_per_user\": 3");
    shop_expect_buy(server, &buy, 201, "", id);
    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    shop_expect(server, "POST", target, NULL, NULL, 200, "");
    shop_put(server, 2, 10, NULL);
    wait_number(0, "SELECT count(*) FROM seckill.retired");
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM seckill.order_change"), 0);
    assert_int_equal(witness_number(witness,
                                    "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND"
                                    " relnamespace = 'seckill'::regnamespace AND NOT EXISTS"
                                    " (SELECT FROM pg_index WHERE indrelid = pg_class.oid"
                                    " AND indisprimary)"),
                     0);
    witness_run(witness, "DROP PUBLICATION everything");
    witness_close(witness);
    server_stop(server);
}

/* An ended sale's row that is locked stays until it is free, and is cleared away then; other sales
 * do not wait for it. */
TEST(a_purge_comes_back_for_what_was_locked)
{
    struct server *server = server_start(NULL);

    holder = witness_open(conninfo);
    witness = witness_open(conninfo);
    for (int64_t product = 3; product <= 4; product++) {
        struct buy buy = {.strategy = "conditional", .product = product, .user = product};
        shop_put(server, product, 10, ", \"limit_per_user\": 3");
        shop_expect_buy(server, &buy, 201, "", NULL);
    }
    witness_run(holder, "BEGIN");
    witness_run(holder, "SELECT 1 FROM orders WHERE product_id = 3 FOR UPDATE");
    shop_put(server, 3, 10, NULL);
    shop_put(server, 4, 10, NULL);
    wait_number(0, "SELECT count(*) FROM purchase WHERE product_id IN (3, 4)");
    wait_number(0, "SELECT count(*) FROM orders WHERE product_id = 4");
    wait_number(0, "SELECT count(*) FROM retired WHERE product_id = 4");
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM orders WHERE product_id = 3"),
                     1);
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM retired WHERE product_id = 3"),
                     1);
    witness_run(holder, "ROLLBACK");
    wait_number(0, "SELECT count(*) FROM retired");
    assert_int_equal(witness_number(witness, "SELECT count(*) FROM orders WHERE product_id = 3"),
                     0);
    witness_close(holder);
    witness_close(witness);
    server_stop(server);
}

/* It keeps the probes from being made, so it does not wait for long, and says why. */
TEST(a_purge_that_waits_gives_up)
{
    struct server *server = server_start(NULL);

    holder = witness_open(conninfo);
    witness = witness_open(conninfo);
    shop_put(server, 2, 1, NULL);
    witness_run(holder, "BEGIN");
    witness_run(holder, "LOCK TABLE purchase IN ACCESS EXCLUSIVE MODE");
    shop_put(server, 2, 1, NULL);
    T_UNTIL(server_says(server, not_deleted));
    witness_run(holder, "ROLLBACK");
    wait_number(0, "SELECT count(*) FROM retired");
    witness_close(holder);
    witness_close(witness);
    server_stop(server);
}

/* A server that is told to end does not wait for it. */
TEST(a_purge_that_waits_is_left)
{
    enum { SOON_US = 15000000 };
    struct server *server = server_start(NULL);

    holder = witness_open(conninfo);
    witness = witness_open(conninfo);
    shop_put(server, 2, 1, NULL);
    witness_run(holder, "BEGIN");
    witness_run(holder, "LOCK TABLE purchase IN ACCESS EXCLUSIVE MODE");
    shop_put(server, 2, 1, NULL);
    wait_number(
        1, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
           " AND datname = current_database() AND query LIKE '%DELETE FROM seckill.purchase%'");
    int64_t begun_us = clock_mono_us();
    server_signal(server, SIGTERM);
    assert_int_equal(server_wait(server, NULL, 0), 0);
    assert_in_range(clock_mono_us() - begun_us, 0, SOON_US);
    witness_run(holder, "ROLLBACK");
    witness_close(holder);
    witness_close(witness);
}

/* The row of a product that somebody has deleted: its orders are of no sale, and their keys free.
 */
TEST(a_key_of_a_product_that_is_gone)
{
    static const char *const strategies[] = {"conditional", "batch", "partitioned-queue"};
    struct server *server = server_start(NULL);

    witness = witness_open(conninfo);
    for (int i = 0; i < (stack_amqp() ? 3 : 2); i++) {
        struct buy buy = {.strategy = strategies[i], .product = 10 + i, .user = 10 + i, .key = "k"};
        shop_put(server, buy.product, 1, NULL);
        shop_expect_buy(server, &buy, 201, "", NULL);
        witness_run(witness, "DELETE FROM product WHERE id = %lld", (long long)buy.product);
        buy.product += 10;
        shop_put(server, buy.product, 1, NULL);
        shop_expect_buy(server, &buy, 201, "", NULL);
    }
    witness_close(witness);
    server_stop(server);
}

/* From now on an order's row of product 40 is not written before its user has bought another one:
 * the statement began before that. */
static void write_late(void)
{
    witness_run(witness, "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
                         " WHILE NOT EXISTS (SELECT FROM orders WHERE user_id = NEW.user_id)"
                         " LOOP PERFORM pg_sleep(0.001); END LOOP; RETURN NEW; END$$");
    witness_run(witness, "CREATE TRIGGER late BEFORE INSERT ON orders FOR EACH ROW"
                         " WHEN (NEW.product_id = 40) EXECUTE FUNCTION late()");
}

/* A key's order is of a sale that began after the statement that wants the key, whose snapshot
 * shows no such product, or an earlier sale of it: it lives all the same. */
TEST(a_key_of_a_sale_that_has_just_begun)
{
    static const char *const strategies[] = {"conditional", "batch", "partitioned-queue"};
    struct server *server = server_start(NULL);

    witness = witness_open(conninfo);
    write_late();
    shop_put(server, 40, 9, NULL);
    for (int i = 0; i < (stack_amqp() ? 6 : 4); i++) {
        struct buy late = {
            .strategy = strategies[i / 2], .product = 40, .user = 40 + i, .key = "k"};
        struct buy first = {
            .strategy = "conditional", .product = 41 + i / 2, .user = late.user, .key = late.key};
        struct crowd *crowd = crowd_create();
        shop_crowd_buy(crowd, server, &late);
        crowd_send(crowd);
        wait_number(1, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
                       " AND datname = current_database()");
        shop_put(server, first.product, 1, NULL);
        shop_expect_buy(server, &first, 201, "", NULL);
        crowd_finish(crowd, PATIENCE_US);
        if (crowd_count(crowd, 409, "idempotency_mismatch") != 1)
            fail_msg("%s: %s", late.strategy, crowd_summary(crowd));
        crowd_destroy(crowd);
        witness_expect_exact(witness, first.product);
    }
    witness_run(witness, "DROP FUNCTION late CASCADE");
    witness_close(witness);
    server_stop(server);
}

TEST_EACH(NULL, server_teardown)

int main(void)
{
    conninfo = stack_database_create("seckill_purge");
    server_use_database(conninfo);
    int failed = t_run_all(NULL, NULL);
    stack_database_drop("seckill_purge");
    free(conninfo);
    return failed != 0;
}
