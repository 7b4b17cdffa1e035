/*
 * The batch: many orders of many products in one transaction, and each still gets what it would get
 * alone.
 */
#include "batch_plug.h"

#include <stdio.h>

enum { GUILTY = 666 };

static void two_products_are_one_transaction(void **state)
{
    (void)state;
    plug_put_seen(NULL, 201, "");
    shop_put(plugged.server, plugged.product + 1, 100, ", \"limit_per_user\": 1");
    struct buy restock = plug_buy(plugged.product, 0, 91);
    shop_expect_restock(plugged.server, &restock, 200, "");
    struct crowd *crowd = plug_begin();
    for (int i = 0; i < 40; i++) {
        struct buy buy = plug_buy(plugged.product + i % 2, ++plugged.users, 1 + (i % 2 == 0));
        shop_crowd_buy(crowd, plugged.server, &buy);
    }
    struct buy nothing = plug_buy(999999, 1, 1);
    shop_crowd_buy(crowd, plugged.server, &nothing);
    crowd_send(crowd);
    plug_wait_queued(41);
    plug_end(crowd);
    if (crowd_count(crowd, 201, "") != 41 || crowd_count(crowd, 404, "unknown_product") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    assert_int_equal(plug_transactions(), 1 + 1);
    assert_int_equal(witness_sale(plugged.witness, plugged.product).sold, 1 + 40);
    assert_int_equal(witness_sale(plugged.witness, plugged.product + 1).sold, 20);
    witness_expect_exact(plugged.witness, plugged.product);
    witness_expect_exact(plugged.witness, plugged.product + 1);
}

static void a_batch_is_charged_to_what_it_sold(void **state)
{
    (void)state;
    shop_put(plugged.server, plugged.product, 5, NULL);
    struct spent committed = plug_spent("committed");
    struct spent refused = plug_spent("refused");
    plug_sell(15);
    plug_expect_spent("committed", committed, (struct spent){1 + 5, 1 + 2, 2});
    plug_expect_spent("refused", refused, (struct spent){0, 0, 0});
    plug_sell(10);
    plug_expect_spent("committed", committed, (struct spent){1 + 5 + 1, 1 + 2 + 1, 3});
    plug_expect_spent("refused", refused, (struct spent){10, 2, 0});
}

static void in_arrival_order_whoever_fits(void **state)
{
    static const int64_t quantities[] = {3, 4, 2, 1};

    (void)state;
    shop_put(plugged.server, plugged.product, 5, NULL);
    struct crowd *crowd = plug_begin();
    for (int i = 0; i < 4; i++) {
        struct buy buy = plug_buy(plugged.product, ++plugged.users, quantities[i]);
        plug_queue(crowd, &buy);
    }
    plug_end(crowd);
    plug_expect(crowd, 1, 201, "");
    plug_expect(crowd, 2, 409, "sold_out");
    plug_expect(crowd, 3, 201, "");
    plug_expect(crowd, 4, 409, "sold_out");
    crowd_destroy(crowd);
    assert_int_equal(plug_transactions(), 1);
    witness_expect_exact(plugged.witness, plugged.product);
}

static void a_user_twice_in_a_batch(void **state)
{
    static const int64_t quantities[] = {2, 2, 1};

    (void)state;
    shop_put(plugged.server, plugged.product, 50, ", \"limit_per_user\": 4");
    struct buy before = plug_buy(plugged.product, 7, 1);
    shop_expect_buy(plugged.server, &before, 201, "", NULL);
    struct crowd *crowd = plug_begin();
    for (int i = 0; i < 3; i++) {
        struct buy buy = plug_buy(plugged.product, 7, quantities[i]);
        plug_queue(crowd, &buy);
    }
    plug_end(crowd);
    plug_expect(crowd, 1, 201, "");
    plug_expect(crowd, 2, 409, "limit_reached");
    plug_expect(crowd, 3, 201, "");
    crowd_destroy(crowd);
    assert_int_equal(witness_number(plugged.witness,
                                    "SELECT units FROM purchase WHERE product_id = %lld"
                                    " AND user_id = 7",
                                    (long long)plugged.product),
                     4);
    witness_expect_exact(plugged.witness, plugged.product);
}

static void keys_in_a_batch(void **state)
{
    (void)state;
    shop_put(plugged.server, plugged.product, 2, NULL);
    shop_put(plugged.server, plugged.product + 1, 50, NULL);
    struct buy earlier = plug_buy(plugged.product + 1, 8, 1);
    earlier.key = "earlier";
    shop_expect_buy(plugged.server, &earlier, 201, "", NULL);
    struct crowd *crowd = plug_begin();
    struct buy buy = plug_buy(plugged.product, 8, 2);
    buy.key = "twice";
    plug_queue(crowd, &buy);
    plug_queue(crowd, &buy);
    struct buy other = plug_buy(plugged.product + 1, 8, 2);
    other.key = "twice";
    plug_queue(crowd, &other);
    plug_queue(crowd, &earlier);
    struct buy refused = plug_buy(plugged.product, 8, 1);
    refused.key = "refused";
    plug_queue(crowd, &refused);
    plug_queue(crowd, &refused);
    plug_end(crowd);
    plug_expect(crowd, 1, 201, "");
    plug_expect(crowd, 2, 200, "");
    plug_expect(crowd, 3, 409, "idempotency_mismatch");
    plug_expect(crowd, 4, 200, "");
    plug_expect(crowd, 5, 409, "sold_out");
    plug_expect(crowd, 6, 409, "sold_out");
    crowd_destroy(crowd);
    witness_expect_exact(plugged.witness, plugged.product);
    assert_int_equal(witness_sale(plugged.witness, plugged.product + 1).orders, 1);
}

/* A row that PostgreSQL refuses brings the whole transaction down; the others are innocent. */
static void the_guilty_order_stands_alone(void **state)
{
    enum { ORDERS = 37 };

    (void)state;
    shop_put(plugged.server, plugged.product, 100, NULL);
    witness_run(plugged.witness,
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                " RAISE EXCEPTION 'no' USING ERRCODE = 'P0001'; END $$");
    witness_run(plugged.witness,
                "CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW"
                " WHEN (new.user_id = %d) EXECUTE FUNCTION refuse()",
                GUILTY);
    struct crowd *crowd = plug_begin();
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = plug_buy(plugged.product, i == 20 ? GUILTY : ++plugged.users, 1);
        shop_crowd_buy(crowd, plugged.server, &buy);
    }
    crowd_send(crowd);
    plug_wait_queued(ORDERS);
    plug_end(crowd);
    witness_run(plugged.witness, "DROP FUNCTION refuse() CASCADE");
    if (crowd_count(crowd, 201, "") != ORDERS ||
        crowd_count(crowd, 503, "backend_unavailable") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    assert_int_equal(witness_sale(plugged.witness, plugged.product).sold, ORDERS - 1);
    witness_expect_exact(plugged.witness, plugged.product);
}

/* Their batch waits for a row; the order that can wait no longer is answered, the others go on. */
static void the_impatient_do_not_wait_for_the_others(void **state)
{
    int64_t until_us = clock_mono_us() + PLUG_PATIENCE_US;

    (void)state;
    plug_put_seen(NULL, 201, "");
    struct crowd *crowd = plug_begin();
    struct witness *second = witness_hold(plugged.conninfo, plugged.product);
    struct buy patient = plug_buy(plugged.product, ++plugged.users, 1);
    struct buy impatient = plug_buy(plugged.product, ++plugged.users, 1);
    impatient.more = "&wait_ms=3000";
    plug_queue(crowd, &patient);
    plug_queue(crowd, &impatient);
    plug_release();
    assert_true(crowd_wait(crowd, 2, until_us));
    plug_expect(crowd, 0, 201, "");
    plug_expect(crowd, 2, 503, "wait_timeout");
    /* Its batch would give up the row ten seconds later. */
    assert_in_range(crowd_at(crowd, 2)->took_us, 3000000, 20000000);
    witness_release(second);
    crowd_finish(crowd, PLUG_PATIENCE_US);
    plug_expect(crowd, 1, 201, "");
    crowd_destroy(crowd);
    witness_expect_exact(plugged.witness, plugged.product);
}

/* Another product's row is held, and there are orders for it in the batch. */
static void a_held_product_keeps_no_other_waiting(void **state)
{
    (void)state;
    shop_put(plugged.server, plugged.product, 10, NULL);
    shop_put(plugged.server, plugged.product + 1, 10, NULL);
    struct crowd *crowd = plug_begin();
    struct witness *holder = witness_hold(plugged.conninfo, plugged.product);
    struct buy held = plug_buy(plugged.product, ++plugged.users, 1);
    struct buy free_one = plug_buy(plugged.product + 1, ++plugged.users, 1);
    plug_queue(crowd, &held);
    plug_queue(crowd, &free_one);
    plug_release();
    assert_true(crowd_wait(crowd, 2, clock_mono_us() + PLUG_PATIENCE_US));
    plug_expect(crowd, 0, 201, "");
    plug_expect(crowd, 2, 201, "");
    witness_release(holder);
    crowd_finish(crowd, PLUG_PATIENCE_US);
    plug_expect(crowd, 1, 201, "");
    crowd_destroy(crowd);
}

static bool is_early(int64_t product)
{
    return witness_number(plugged.witness, "SELECT early::int FROM product WHERE id = %lld",
                          (long long)product) == 1;
}

/* Commits of a batch that nobody has said of yet that they are released early: whose row is
 * held is passed by, and the others are said of. */
static void a_held_product_keeps_no_other_from_its_mark(void **state)
{
    static const char shared[] = "&wait_ms=60000&flush=shared";

    (void)state;
    shop_put(plugged.server, plugged.product, 10, NULL);
    shop_put(plugged.server, plugged.product + 1, 10, NULL);
    struct buy buy = plug_buy(PLUG, 1, 1);
    buy.more = shared;
    for (int64_t until_us = clock_mono_us() + t_patience_us(); !is_early(PLUG);) {
        if (clock_mono_us() >= until_us)
            fail_msg("nothing is released early");
        shop_expect_buy(plugged.server, &buy, 201, "", NULL);
    }
    struct crowd *crowd = plug_begin();
    struct witness *holder = witness_hold(plugged.conninfo, plugged.product);
    struct buy held = plug_buy(plugged.product, ++plugged.users, 1);
    struct buy free_one = plug_buy(plugged.product + 1, ++plugged.users, 1);
    held.more = free_one.more = shared;
    plug_queue(crowd, &held);
    plug_queue(crowd, &free_one);
    plug_release();
    assert_true(crowd_wait(crowd, 2, clock_mono_us() + PLUG_PATIENCE_US));
    plug_expect(crowd, 2, 201, "");
    assert_true(is_early(plugged.product + 1));
    witness_release(holder);
    crowd_finish(crowd, PLUG_PATIENCE_US);
    plug_expect(crowd, 1, 201, "");
    crowd_destroy(crowd);
}

enum { HELD = 6, FIRST = 5000 };

/* Orders of as many products whose rows are held as of others, which are sold meanwhile. False: a
 * statement of somebody's took as long as his work may. */
static bool sell_beside_held_products(void)
{
    struct crowd *crowd = crowd_create();
    struct witness *holder = witness_open(plugged.conninfo);
    struct buy buy = plug_buy(FIRST, ++plugged.users, 1);

    shop_expect_buy_soon(plugged.server, &buy, 201);
    witness_run(holder, "BEGIN");
    witness_run(holder, "SELECT 1 FROM product WHERE id >= %d AND id %% 2 = 0 FOR UPDATE", FIRST);
    for (int i = 0; i < 2 * HELD; i++) {
        buy = plug_buy(FIRST + i, ++plugged.users, 1);
        shop_crowd_buy(crowd, plugged.server, &buy);
    }
    crowd_send(crowd);
    assert_true(crowd_wait(crowd, HELD, clock_mono_us() + PLUG_PATIENCE_US));
    int beside = crowd_count(crowd, 201, "");
    witness_release(holder);
    crowd_finish(crowd, PLUG_PATIENCE_US);
    int sold = crowd_count(crowd, 201, "");
    if (beside > HELD || sold + crowd_count(crowd, 503, "backend_unavailable") != 2 * HELD)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    return beside == HELD && sold == 2 * HELD;
}

/* Looking for all of them takes longer than the work of a batch may. That is a second, and so a
 * machine where one statement takes as long gets several rounds. */
static void many_held_products_fail_no_other(void **state)
{
    enum { ROUNDS = 5 };
    struct server *usual = plugged.server;
    bool sold = false;

    (void)state;
    plugged.server = server_start("--work-timeout-ms", "1000");
    for (int i = 0; i < 2 * HELD; i++)
        shop_put(plugged.server, FIRST + i, 10, NULL);
    for (int round = 0; round < ROUNDS && !sold; round++)
        sold = sell_beside_held_products();
    if (!sold)
        fail_msg("in each of %d rounds somebody's time was over", (int)ROUNDS);
    server_stop(plugged.server);
    plugged.server = usual;
}

static void cancels_and_restocks_among_them(void **state)
{
    char id[SHOP_ID_SIZE];
    struct buy first = plug_buy(plugged.product, 9, 3);

    (void)state;
    shop_put(plugged.server, plugged.product, 3, NULL);
    shop_expect_buy(plugged.server, &first, 201, "", id);
    struct crowd *crowd = plug_begin();
    struct buy restock = plug_buy(plugged.product, 0, 2);
    struct buy buy = plug_buy(plugged.product, ++plugged.users, 5);
    plug_queue(crowd, &buy);
    shop_crowd_cancel(crowd, plugged.server, id);
    shop_crowd_restock(crowd, plugged.server, &restock);
    crowd_send(crowd);
    plug_end(crowd);
    if (crowd_count(crowd, 200, "") != 2)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    witness_expect_exact(plugged.witness, plugged.product);
    assert_int_equal(witness_sale(plugged.witness, plugged.product).cancelled, 1);
}

enum { CANCELS = 30 };

static void wait_accepted(int64_t orders)
{
    int64_t until_us = clock_mono_us() + PLUG_PATIENCE_US;

    while (server_accepted(plugged.server) < orders)
        assert_true(clock_mono_us() < until_us);
}

/* Of orders that are there already, by number. */
static void begin_cancels(struct crowd *crowd, const char *strategy)
{
    int64_t accepted = server_accepted(plugged.server);

    shop_put(plugged.server, plugged.product, 100, NULL);
    witness_run(plugged.witness,
                "INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status,"
                " created_at) SELECT ('00000000-0000-7000-8000-' || lpad((id * 1000 + n)::text, 12,"
                " '0'))::uuid, id, epoch, n, 1, '%s', 1, now()"
                " FROM product, generate_series(1, %d) AS n WHERE id = %lld",
                strategy, CANCELS, (long long)plugged.product);
    for (int i = 1; i <= CANCELS; i++) {
        char id[64];
        snprintf(id, sizeof id, "00000000-0000-7000-8000-%012lld",
                 (long long)plugged.product * 1000 + i);
        shop_crowd_cancel(crowd, plugged.server, id);
    }
    crowd_send(crowd);
    wait_accepted(accepted + CANCELS);
}

/* PostgreSQL numbers transactions as they begin to write. */
static int64_t cancelled_before(int64_t user)
{
    return witness_number(
        plugged.witness,
        "SELECT count(*) FROM orders WHERE product_id = %lld AND status = 2 AND"
        " xmin::text::bigint < (SELECT xmin::text::bigint FROM orders WHERE product_id = %lld"
        " AND user_id = %lld)",
        (long long)plugged.product, (long long)plugged.product, (long long)user);
}

/* False: when the buy came too many of them were done, and it has proved nothing. */
static bool buy_amid_cancels(const char *strategy)
{
    enum { USER = 999, FEW = CANCELS / 3, MOST = CANCELS / 2 };
    struct crowd *cancels = crowd_create();
    struct crowd *buyer = crowd_create();
    struct buy buy = plug_buy(++plugged.product, USER, 1);

    buy.strategy = strategy;
    begin_cancels(cancels, strategy);
    int64_t accepted = server_accepted(plugged.server);
    shop_crowd_buy(buyer, plugged.server, &buy);
    crowd_send(buyer);
    wait_accepted(accepted + 1);
    int64_t done = witness_sale(plugged.witness, plugged.product).cancelled;
    crowd_finish(buyer, PLUG_PATIENCE_US);
    crowd_finish(cancels, PLUG_PATIENCE_US);
    if (crowd_count(buyer, 201, "") != 1 || crowd_count(cancels, 200, "") != CANCELS)
        fail_msg("%s: %s", strategy, crowd_summary(cancels));
    int64_t before = cancelled_before(USER);
    if (done < FEW && before - done > MOST)
        fail_msg("%s: %lld were done when it came, and %lld when it was decided", strategy,
                 (long long)done, (long long)before);
    crowd_destroy(buyer);
    crowd_destroy(cancels);
    return done < FEW;
}

/* Each of the cancels keeps the worker for a tenth of a second; a buy that comes after them is
 * decided long before the last of them. */
static void cancels_do_not_eat_the_buys_time(void **state)
{
    static const char *const names[] = {"batch", "redis-queue"};
    struct server *usual = plugged.server;

    (void)state;
    plugged.server = server_start("--work-ms", "100", "--lock-wait-ms", "60000",
                                  "--work-timeout-ms", "60000", "--lock-ttl-ms", "90000");
    for (int i = 0; i < 2; i++) {
        int64_t until_us = clock_mono_us() + PLUG_PATIENCE_US;
        while (!buy_amid_cancels(names[i]))
            assert_true(clock_mono_us() < until_us);
    }
    server_stop(plugged.server);
    plugged.server = usual;
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(two_products_are_one_transaction),
        cmocka_unit_test(a_batch_is_charged_to_what_it_sold),
        cmocka_unit_test(in_arrival_order_whoever_fits),
        cmocka_unit_test(a_user_twice_in_a_batch),
        cmocka_unit_test(keys_in_a_batch),
        cmocka_unit_test(the_guilty_order_stands_alone),
        cmocka_unit_test(the_impatient_do_not_wait_for_the_others),
        cmocka_unit_test(a_held_product_keeps_no_other_waiting),
        cmocka_unit_test(a_held_product_keeps_no_other_from_its_mark),
        cmocka_unit_test(many_held_products_fail_no_other),
        cmocka_unit_test(cancels_do_not_eat_the_buys_time),
        cmocka_unit_test(cancels_and_restocks_among_them),
    };

    return plug_run("seckill_batch", tests, sizeof tests / sizeof *tests);
}
