/*
 * redis-stock's writers die, stop and are handed what cannot be written.
 *
 * Each fault happens at a named place of the server (base/failpoint.h), so what was committed and
 * what was acknowledged at that moment is known.
 */
#include "lib/fixtures/stock_cluster.h"
#include "lib/stack.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUYERS = 12 };

/* Buyers at a server whose writer dies meanwhile: a 202, or no reply at all. */
static struct crowd *buy_until_it_dies(struct server *server, int quantity)
{
    struct crowd *crowd = crowd_create();

    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = cluster_buy(1 + i, quantity);
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    assert_true(crowd_wait(crowd, BUYERS, clock_mono_us() + CLUSTER_PATIENCE_US));
    cluster_bury(server);
    return crowd;
}

static int64_t rows(void)
{
    return witness_number(cluster.witness, "SELECT count(*) FROM orders WHERE product_id = %lld",
                          (long long)cluster.product);
}

/* Every reservation has one confirmed row, and every 202 is among them. */
static void expect_all_written(struct crowd *crowd, int64_t reservations)
{
    char id[SHOP_ID_SIZE];

    cluster_expect_reconciled();
    assert_int_equal(witness_sale(cluster.witness, cluster.product).orders, reservations);
    assert_int_equal(rows(), reservations);
    for (int i = 0; i < crowd_size(crowd); i++)
        if (crowd_at(crowd, i)->reply.status == 202) {
            http_reply_text(&crowd_at(crowd, i)->reply, "id", id, sizeof id);
            cluster_expect_status(cluster.servers[0], id, "confirmed");
        }
    crowd_destroy(crowd);
}

static void die_at(const char *failpoint, bool committed)
{
    cluster.product++;
    struct server *first = cluster_start_working(failpoint, NULL, "60000");
    shop_put(first, cluster.product, 1000, NULL);
    struct crowd *crowd = buy_until_it_dies(first, 2);
    int64_t reserved = cluster_waiting();
    int64_t written = rows();

    assert_true(reserved > 0);
    assert_int_equal(written > 0, committed);
    struct server *second = cluster_start(NULL, NULL);
    T_UNTIL(cluster_waiting() == 0);
    assert_int_equal(server_metric(second, "seckill_redis_stock_claims_total", "fate=\"known\""),
                     written);
    expect_all_written(crowd, reserved);
    cluster_stop_all();
}

/* Committed and not acknowledged: whoever takes the entry over finds the orders and writes nothing.
 */
static void a_writer_dies_after_its_commit(void **state)
{
    (void)state;
    die_at("stock-writer-committed=kill", true);
}

static void a_writer_dies_before_its_commit(void **state)
{
    (void)state;
    die_at("stock-writer-committing=kill", false);
}

/* The same address again: its own history comes first, without the wait that a stranger's takes. */
static void a_writer_finds_its_own_history(void **state)
{
    char listen[64];

    (void)state;
    cluster.product++;
    struct server *probe = cluster_start(NULL, NULL);
    snprintf(listen, sizeof listen, "%s", strstr(server_address(probe), "127."));
    shop_put(probe, cluster.product, 1000, NULL);
    cluster_stop_all();

    struct server *first = cluster_start("stock-writer-committed=kill", listen);
    struct crowd *crowd = buy_until_it_dies(first, 1);
    int64_t reserved = cluster_waiting();
    struct server *again = cluster_start(NULL, listen);
    /* Take-over comes after 2 s: what is done by then was done from its own history. */
    T_UNTIL(cluster_waiting() == 0);
    assert_false(server_says(again, "took over"));
    expect_all_written(crowd, reserved);
    cluster_stop_all();
}

/* Frozen with entries in its hands; another takes them over; thawed, it changes nothing. */
static void a_frozen_writer_is_taken_over(void **state)
{
    (void)state;
    cluster.product++;
    struct server *first = cluster_start("stock-writer-read=stop", NULL);
    shop_put(first, cluster.product, 1000, NULL);
    struct crowd *crowd = crowd_create();
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = cluster_buy(1 + i, 1);
        shop_crowd_buy(crowd, first, &buy);
    }
    crowd_send(crowd);
    server_wait_stopped(first);
    int64_t reserved = cluster_waiting();
    assert_true(reserved > 0);
    assert_int_equal(rows(), 0);
    struct server *second = cluster_start(NULL, NULL);
    T_UNTIL(cluster_waiting() == 0);
    assert_int_equal(rows(), reserved);
    assert_int_equal(
        server_metric(second, "seckill_redis_stock_claims_total", "fate=\"confirmed\""), reserved);
    server_resume(first);
    assert_true(crowd_wait(crowd, BUYERS, clock_mono_us() + CLUSTER_PATIENCE_US));
    /* What else was under way there is out of time: those orders are not sold, and for a moment
     * nobody there asks the store that did not answer. So the other one is asked. */
    cluster.servers[0] = second;
    cluster.servers[1] = first;
    T_UNTIL(cluster_waiting() == 0);
    int64_t sold = rows();
    assert_true(sold >= reserved && sold >= crowd_count(crowd, 202, ""));
    assert_int_equal(crowd_size(crowd), crowd_count(crowd, 202, "") +
                                            crowd_count(crowd, 503, NULL) +
                                            crowd_count(crowd, 504, NULL));
    expect_all_written(crowd, sold);
    cluster_stop_all();
}

/* One order that PostgreSQL refuses again and again, among others of its batch. */
static void one_order_that_cannot_be_written(void **state)
{
    enum { BAD = 3 };
    char id[SHOP_ID_SIZE];
    char status[16];
    char reason[64];

    (void)state;
    cluster.product++;
    /* The call that a product may have is held, so that what comes meanwhile is one. */
    struct server *server = cluster_start("stock-reserved=hold", NULL);
    shop_put(server, cluster.product, BUYERS, ", \"limit_per_user\": 1");
    struct buy bad = cluster_buy(BAD, 1);
    witness_run(cluster.witness, "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS"
                                 " $$BEGIN RAISE EXCEPTION 'not this one'; END$$");
    witness_run(cluster.witness,
                "CREATE TRIGGER no BEFORE INSERT ON orders FOR EACH ROW"
                " WHEN (NEW.user_id = %lld AND NEW.status = 1) EXECUTE FUNCTION no()",
                (long long)bad.user);
    struct crowd *crowd = crowd_create();
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = cluster_buy(1 + i, 1);
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    server_wait_metric(server, "seckill_orders_in_flight", "", BUYERS);
    server_let_go(server);
    assert_true(crowd_wait(crowd, BUYERS, clock_mono_us() + CLUSTER_PATIENCE_US));
    assert_int_equal(crowd_count(crowd, 202, ""), BUYERS);
    http_reply_text(&crowd_at(crowd, BAD - 1)->reply, "id", id, sizeof id);
    cluster_wait_status(server, id, "failed");
    cluster_status(server, id, status, reason);
    assert_string_equal(reason, "unwritable");
    crowd_destroy(crowd);
    cluster_expect_settled();
    assert_int_equal(cluster_claims("unwritable"), 1);
    assert_int_equal(rows(), BUYERS);
    assert_int_equal(witness_sale(cluster.witness, cluster.product).orders, BUYERS - 1);
    /* Its unit, and its user's share, went back to the mirror, once. */
    assert_int_equal(cluster_mirror(), 1);
    witness_run(cluster.witness, "DROP TRIGGER no ON orders");
    witness_run(cluster.witness, "DROP FUNCTION no()");
    shop_expect_buy(server, &bad, 201, "", NULL);
    struct buy other = cluster_buy(900, 1);
    shop_expect_buy(server, &other, 409, "sold_out", NULL);
    cluster_expect_reconciled();
    cluster_stop_all();
}

/* In place of the order's entry, one of which only the order can be read. */
static void spoil_entry(const struct buy *buy, const char *id)
{
    const char *group = id + 24;
    char entry[64];

    cluster_redis_text(entry, sizeof entry, "HGET @waiting %s", group);
    cluster_redis("XACK @orders writers %s", entry);
    assert_int_equal(cluster_redis("XDEL @orders %s", entry), 1);
    cluster_redis_text(entry, sizeof entry,
                       "XADD @orders * product %lld epoch %lld orders"
                       " nonsense\n%s~%lld~%lld~1700000000000000~\n%s~more~nonsense",
                       (long long)cluster.product,
                       (long long)witness_sale(cluster.witness, cluster.product).epoch, id,
                       (long long)buy->user, (long long)buy->quantity, id);
    cluster_redis("HSET @waiting %s %s", group, entry);
}

/* What cannot be read of an entry is dropped, and keeps nobody waiting. */
static void an_entry_that_cannot_be_read(void **state)
{
    char id[SHOP_ID_SIZE];

    (void)state;
    cluster.product++;
    struct server *first = cluster_start("stock-writer-read=pause:60000", NULL);
    shop_put(first, cluster.product, 5, NULL);
    struct buy buy = cluster_buy(1, 2);
    cluster_accept(first, &buy, id);
    server_signal(first, SIGKILL);
    cluster_bury(first);
    spoil_entry(&buy, id);
    cluster_redis("XADD @orders * nothing here");
    cluster_redis("XADD @orders * product %lld epoch none orders nonsense",
                  (long long)cluster.product);
    cluster_redis("XADD @orders * product %lld epoch %lld orders nonsense\n",
                  (long long)cluster.product,
                  (long long)witness_sale(cluster.witness, cluster.product).epoch);
    assert_int_equal(cluster_redis("XLEN @orders"), 4);

    struct server *second = cluster_start(NULL, NULL);
    cluster_wait_status(second, id, "confirmed");
    cluster_expect_reconciled();
    assert_int_equal(cluster_mirror(), 3);
    cluster_stop_all();
}

/* An entry of one order that has lain there for long, of this sale. */
static void add_old_entry(int serial, int64_t epoch)
{
    cluster_redis("XADD @orders 1-%d product %lld epoch %lld orders"
                  " 018f0000-0000-7000-8000-%012d~%d~1~1700000000000000~\n",
                  serial, (long long)cluster.product, (long long)epoch, serial, serial);
}

/* Entries of another database, and of a sale that has begun behind this one's back (a primary that
 * was failed over from). An order without a row here may have one there. */
static void what_another_database_sold_is_not_ended(void **state)
{
    enum { EPOCHS = 1 << 26 };

    (void)state;
    cluster.product++;
    cluster_redis("DEL @orders");
    struct server *first = cluster_start(NULL, NULL);
    shop_put(first, cluster.product, 5, NULL);
    int64_t epoch = witness_sale(cluster.witness, cluster.product).epoch;
    cluster_stop_all();
    add_old_entry(1, epoch - EPOCHS);
    add_old_entry(2, epoch + EPOCHS);
    add_old_entry(3, epoch + 1);
    add_old_entry(4, epoch);
    first = cluster_start(NULL, NULL);
    cluster_wait_status(first, "018f0000-0000-7000-8000-000000000004", "confirmed");
    T_UNTIL(cluster_claims("lock_held") > 1);
    T_UNTIL(cluster_redis("XLEN @orders") == 3);
    assert_int_equal(cluster_claims("sale_ended"), 0);
    assert_true(server_says(first, "orders of another database"));
    cluster_stop_all();
    cluster_redis("DEL @orders");
}

static void expect_both_names(struct server *server, const char *method, const char *target,
                              const char *body)
{
    struct http_reply reply = server_call(server, method, target, NULL, body);

    if (!strstr(reply.body, "_redis_stock_faults.seckill (") ||
        !strstr(reply.body, "_rehearsal.seckill (") || !strstr(reply.body, "--system-name"))
        fail_msg("%d: %s", reply.status, reply.body);
    http_reply_fini(&reply);
}

static bool accepts(struct server *server, int64_t user)
{
    struct buy buy = cluster_buy(user, 1);
    struct http_reply reply = shop_send(server, &buy);
    bool accepted = reply.status == 202;

    assert_true(accepted || reply.status == 503);
    http_reply_fini(&reply);
    return accepted;
}

/* A rehearsal in another database, under the shop's name and in its Redis. */
static void one_database_sells_in_a_redis(void **state)
{
    enum { ORDERS = 60 };
    char id[SHOP_ID_SIZE];
    char body[64];

    (void)state;
    cluster.product++;
    char *conninfo = stack_database_create("seckill_rehearsal");
    struct server *shop = cluster_start(NULL, NULL);
    server_use_database(conninfo);
    struct server *rehearsal = cluster_start("", NULL);
    server_use_database(cluster.conninfo);
    shop_put(shop, cluster.product, ORDERS + 1, NULL);
    shop_put(rehearsal, cluster.product, ORDERS, NULL);
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = cluster_buy(1 + i, 1);
        assert_false(accepts(rehearsal, 1 + i));
        cluster_accept(shop, &buy, id);
    }
    cluster_wait_status(shop, id, "confirmed");
    expect_both_names(rehearsal, "GET", "/readyz", NULL);
    snprintf(body, sizeof body, "{\"product_id\": %lld, \"user_id\": 1}",
             (long long)cluster.product);
    expect_both_names(rehearsal, "POST", "/orders?strategy=redis-stock", body);
    cluster_expect_settled();
    assert_int_equal(rows(), ORDERS);
    assert_int_equal(cluster_mirror(), 1);

    server_signal(shop, SIGTERM);
    cluster_bury(shop);
    T_UNTIL(accepts(rehearsal, ORDERS + 1));
    server_signal(rehearsal, SIGKILL); /* which gives nothing back */
    cluster_bury(rehearsal);
    shop = cluster_start("", NULL);
    T_UNTIL(accepts(shop, ORDERS + 1));
    cluster_stop_all();
    stack_database_drop("seckill_rehearsal");
    free(conninfo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_writer_dies_after_its_commit, cluster_teardown),
        cmocka_unit_test_teardown(a_writer_dies_before_its_commit, cluster_teardown),
        cmocka_unit_test_teardown(a_writer_finds_its_own_history, cluster_teardown),
        cmocka_unit_test_teardown(a_frozen_writer_is_taken_over, cluster_teardown),
        cmocka_unit_test_teardown(one_order_that_cannot_be_written, cluster_teardown),
        cmocka_unit_test_teardown(an_entry_that_cannot_be_read, cluster_teardown),
        cmocka_unit_test_teardown(what_another_database_sold_is_not_ended, cluster_teardown),
        cmocka_unit_test_teardown(one_database_sells_in_a_redis, cluster_teardown),
    };

    cluster_begin("redis_stock_faults");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cluster_end("redis_stock_faults");
    return failed != 0;
}
