/*
 * redis-stock's writers die, stop and are handed what cannot be written.
 *
 * Each fault happens at a named place of the server (base/failpoint.h), so what was committed and
 * what was acknowledged at that moment is known.
 */
#include "lib/fixtures/stock_bed.h"

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
        struct buy buy = bed_buy(1 + i, quantity);
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    assert_true(crowd_wait(crowd, BUYERS, clock_mono_us() + BED_PATIENCE_US));
    bed_bury(server);
    return crowd;
}

static int64_t rows(void)
{
    return witness_number(bed.witness, "SELECT count(*) FROM orders WHERE product_id = %lld",
                          (long long)bed.product);
}

/* Every reservation has one confirmed row, and every 202 is among them. */
static void expect_all_written(struct crowd *crowd, int64_t reservations)
{
    char id[SHOP_ID_SIZE];

    bed_expect_reconciled();
    assert_int_equal(witness_sale(bed.witness, bed.product).orders, reservations);
    assert_int_equal(rows(), reservations);
    for (int i = 0; i < crowd_size(crowd); i++)
        if (crowd_at(crowd, i)->reply.status == 202) {
            http_reply_text(&crowd_at(crowd, i)->reply, "id", id, sizeof id);
            bed_expect_status(bed.servers[0], id, "confirmed");
        }
    crowd_destroy(crowd);
}

static void die_at(const char *failpoint, bool committed)
{
    bed.product++;
    struct server *first = bed_start(failpoint, NULL);
    shop_put(first, bed.product, 1000, NULL);
    struct crowd *crowd = buy_until_it_dies(first, 2);
    int64_t reserved = bed_waiting();
    int64_t written = rows();

    assert_true(reserved > 0);
    assert_int_equal(written > 0, committed);
    struct server *second = bed_start(NULL, NULL);
    BED_WAIT(bed_waiting() == 0);
    assert_int_equal(server_metric(second, "seckill_redis_stock_claims_total", "fate=\"known\""),
                     written);
    expect_all_written(crowd, reserved);
    bed_stop_all();
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
    bed.product++;
    struct server *probe = bed_start(NULL, NULL);
    snprintf(listen, sizeof listen, "%s", strstr(server_address(probe), "127."));
    shop_put(probe, bed.product, 1000, NULL);
    bed_stop_all();

    struct server *first = bed_start("stock-writer-committed=kill", listen);
    struct crowd *crowd = buy_until_it_dies(first, 1);
    int64_t reserved = bed_waiting();
    struct server *again = bed_start(NULL, listen);
    /* Take-over comes after 2 s: what is done by then was done from its own history. */
    BED_WAIT(bed_waiting() == 0);
    assert_false(server_says(again, "took over"));
    expect_all_written(crowd, reserved);
    bed_stop_all();
}

/* Frozen with entries in its hands; another takes them over; thawed, it changes nothing. */
static void a_frozen_writer_is_taken_over(void **state)
{
    (void)state;
    bed.product++;
    struct server *first = bed_start("stock-writer-read=stop", NULL);
    shop_put(first, bed.product, 1000, NULL);
    struct crowd *crowd = crowd_create();
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = bed_buy(1 + i, 1);
        shop_crowd_buy(crowd, first, &buy);
    }
    crowd_send(crowd);
    server_wait_stopped(first);
    int64_t reserved = bed_waiting();
    assert_true(reserved > 0);
    assert_int_equal(rows(), 0);
    struct server *second = bed_start(NULL, NULL);
    BED_WAIT(bed_waiting() == 0);
    assert_int_equal(rows(), reserved);
    assert_int_equal(
        server_metric(second, "seckill_redis_stock_claims_total", "fate=\"confirmed\""), reserved);
    server_resume(first);
    assert_true(crowd_wait(crowd, BUYERS, clock_mono_us() + BED_PATIENCE_US));
    /* What else was under way there is out of time: those orders are not sold, and for a moment
     * nobody there asks the store that did not answer. So the other one is asked. */
    bed.servers[0] = second;
    bed.servers[1] = first;
    BED_WAIT(bed_waiting() == 0);
    int64_t sold = rows();
    assert_true(sold >= reserved && sold >= crowd_count(crowd, 202, ""));
    assert_int_equal(crowd_size(crowd), crowd_count(crowd, 202, "") +
                                            crowd_count(crowd, 503, NULL) +
                                            crowd_count(crowd, 504, NULL));
    expect_all_written(crowd, sold);
    bed_stop_all();
}

/* One order that PostgreSQL refuses again and again, among others of its batch. */
static void one_order_that_cannot_be_written(void **state)
{
    enum { BAD = 3 };
    char id[SHOP_ID_SIZE];
    char status[16];
    char reason[64];

    (void)state;
    bed.product++;
    /* The call that a product may have is held, so that what comes meanwhile is one. */
    struct server *server = bed_start("stock-reserved=hold", NULL);
    shop_put(server, bed.product, BUYERS, ", \"limit_per_user\": 1");
    struct buy bad = bed_buy(BAD, 1);
    witness_run(bed.witness, "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS"
                             " $$BEGIN RAISE EXCEPTION 'not this one'; END$$");
    witness_run(bed.witness,
                "CREATE TRIGGER no BEFORE INSERT ON orders FOR EACH ROW"
                " WHEN (NEW.user_id = %lld AND NEW.status = 1) EXECUTE FUNCTION no()",
                (long long)bad.user);
    struct crowd *crowd = crowd_create();
    for (int i = 0; i < BUYERS; i++) {
        struct buy buy = bed_buy(1 + i, 1);
        shop_crowd_buy(crowd, server, &buy);
    }
    crowd_send(crowd);
    server_wait_metric(server, "seckill_orders_in_flight", "", BUYERS);
    server_let_go(server);
    assert_true(crowd_wait(crowd, BUYERS, clock_mono_us() + BED_PATIENCE_US));
    assert_int_equal(crowd_count(crowd, 202, ""), BUYERS);
    http_reply_text(&crowd_at(crowd, BAD - 1)->reply, "id", id, sizeof id);
    bed_wait_status(server, id, "failed");
    bed_status(server, id, status, reason);
    assert_string_equal(reason, "unwritable");
    crowd_destroy(crowd);
    bed_expect_settled();
    assert_int_equal(bed_claims("unwritable"), 1);
    assert_int_equal(rows(), BUYERS);
    assert_int_equal(witness_sale(bed.witness, bed.product).orders, BUYERS - 1);
    /* Its unit, and its user's share, went back to the mirror, once. */
    assert_int_equal(bed_mirror(), 1);
    witness_run(bed.witness, "DROP TRIGGER no ON orders");
    witness_run(bed.witness, "DROP FUNCTION no()");
    shop_expect_buy(server, &bad, 201, "", NULL);
    struct buy other = bed_buy(900, 1);
    shop_expect_buy(server, &other, 409, "sold_out", NULL);
    bed_expect_reconciled();
    bed_stop_all();
}

/* In place of the order's entry, one of which only the order can be read. */
static void spoil_entry(const struct buy *buy, const char *id)
{
    const char *group = id + 24;
    char entry[64];

    bed_redis_text(entry, sizeof entry, "HGET @waiting %s", group);
    bed_redis("XACK @orders writers %s", entry);
    assert_int_equal(bed_redis("XDEL @orders %s", entry), 1);
    bed_redis_text(entry, sizeof entry,
                   "XADD @orders * product %lld epoch %lld orders"
                   " nonsense\n%s~%lld~%lld~1700000000000000~\n%s~more~nonsense",
                   (long long)bed.product, (long long)witness_sale(bed.witness, bed.product).epoch,
                   id, (long long)buy->user, (long long)buy->quantity, id);
    bed_redis("HSET @waiting %s %s", group, entry);
}

/* What cannot be read of an entry is dropped, and keeps nobody waiting. */
static void an_entry_that_cannot_be_read(void **state)
{
    char id[SHOP_ID_SIZE];

    (void)state;
    bed.product++;
    struct server *first = bed_start("stock-writer-read=pause:60000", NULL);
    shop_put(first, bed.product, 5, NULL);
    struct buy buy = bed_buy(1, 2);
    bed_accept(first, &buy, id);
    server_signal(first, SIGKILL);
    bed_bury(first);
    spoil_entry(&buy, id);
    bed_redis("XADD @orders * nothing here");
    bed_redis("XADD @orders * product %lld epoch none orders nonsense", (long long)bed.product);
    bed_redis("XADD @orders * product %lld epoch %lld orders nonsense\n", (long long)bed.product,
              (long long)witness_sale(bed.witness, bed.product).epoch);
    assert_int_equal(bed_redis("XLEN @orders"), 4);

    struct server *second = bed_start(NULL, NULL);
    bed_wait_status(second, id, "confirmed");
    bed_expect_reconciled();
    assert_int_equal(bed_mirror(), 3);
    bed_stop_all();
}

/* An entry of one order that has lain there for long, of this sale. */
static void add_old_entry(int serial, int64_t epoch)
{
    bed_redis("XADD @orders 1-%d product %lld epoch %lld orders"
              " 018f0000-0000-7000-8000-%012d~%d~1~1700000000000000~\n",
              serial, (long long)bed.product, (long long)epoch, serial, serial);
}

/* Entries of another database, and of a sale that has begun behind this one's back (a primary that
 * was failed over from). An order without a row here may have one there. */
static void what_another_database_sold_is_not_ended(void **state)
{
    enum { EPOCHS = 1 << 26 };

    (void)state;
    bed.product++;
    bed_redis("DEL @orders");
    struct server *first = bed_start(NULL, NULL);
    shop_put(first, bed.product, 5, NULL);
    int64_t epoch = witness_sale(bed.witness, bed.product).epoch;
    bed_stop_all();
    add_old_entry(1, epoch - EPOCHS);
    add_old_entry(2, epoch + EPOCHS);
    add_old_entry(3, epoch + 1);
    add_old_entry(4, epoch);
    first = bed_start(NULL, NULL);
    bed_wait_status(first, "018f0000-0000-7000-8000-000000000004", "confirmed");
    BED_WAIT(bed_claims("lock_held") > 1);
    BED_WAIT(bed_redis("XLEN @orders") == 3);
    assert_int_equal(bed_claims("sale_ended"), 0);
    assert_true(server_says(first, "orders of another database"));
    bed_stop_all();
    bed_redis("DEL @orders");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_writer_dies_after_its_commit, bed_teardown),
        cmocka_unit_test_teardown(a_writer_dies_before_its_commit, bed_teardown),
        cmocka_unit_test_teardown(a_writer_finds_its_own_history, bed_teardown),
        cmocka_unit_test_teardown(a_frozen_writer_is_taken_over, bed_teardown),
        cmocka_unit_test_teardown(one_order_that_cannot_be_written, bed_teardown),
        cmocka_unit_test_teardown(an_entry_that_cannot_be_read, bed_teardown),
        cmocka_unit_test_teardown(what_another_database_sold_is_not_ended, bed_teardown),
    };

    bed_begin("redis_stock_faults");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bed_end("redis_stock_faults");
    return failed != 0;
}
