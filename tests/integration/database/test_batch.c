/*
 * The batch: many orders of many products in one transaction, and each still gets what it would get
 * alone.
 */
#include "batch_lane.h"

#include <stdio.h>

enum { GUILTY = 666 };

TEST(two_products_are_one_transaction)
{
    lane_put_seen(NULL, 201, "");
    shop_put(lane.server, lane.product + 1, 100, ", \"limit_per_user\": 1");
    struct buy restock = lane_buy(lane.product, 0, 91);
    shop_expect_restock(lane.server, &restock, 200, "");
    struct crowd *crowd = lane_begin();
    for (int i = 0; i < 40; i++) {
        struct buy buy = lane_buy(lane.product + i % 2, ++lane.users, 1 + (i % 2 == 0));
        shop_crowd_buy(crowd, lane.server, &buy);
    }
    struct buy nothing = lane_buy(999999, 1, 1);
    shop_crowd_buy(crowd, lane.server, &nothing);
    crowd_send(crowd);
    lane_wait_queued(41);
    lane_end(crowd);
    if (crowd_count(crowd, 201, "") != 41 || crowd_count(crowd, 404, "unknown_product") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    assert_int_equal(lane_transactions(), 1 + 1);
    assert_int_equal(witness_sale(lane.witness, lane.product).sold, 1 + 40);
    assert_int_equal(witness_sale(lane.witness, lane.product + 1).sold, 20);
    witness_expect_exact(lane.witness, lane.product);
    witness_expect_exact(lane.witness, lane.product + 1);
}

TEST(a_batch_is_charged_to_what_it_sold)
{
    shop_put(lane.server, lane.product, 5, NULL);
    struct spent committed = lane_spent("committed");
    struct spent refused = lane_spent("refused");
    lane_sell(15);
    lane_expect_spent("committed", committed, (struct spent){1 + 5, 1 + 2, 2});
    lane_expect_spent("refused", refused, (struct spent){0, 0, 0});
    lane_sell(10);
    lane_expect_spent("committed", committed, (struct spent){1 + 5 + 1, 1 + 2 + 1, 3});
    lane_expect_spent("refused", refused, (struct spent){10, 2, 0});
}

TEST(in_arrival_order_whoever_fits)
{
    static const int64_t quantities[] = {3, 4, 2, 1};

    shop_put(lane.server, lane.product, 5, NULL);
    struct crowd *crowd = lane_begin();
    for (int i = 0; i < 4; i++) {
        struct buy buy = lane_buy(lane.product, ++lane.users, quantities[i]);
        lane_queue(crowd, &buy);
    }
    lane_end(crowd);
    lane_expect(crowd, 1, 201, "");
    lane_expect(crowd, 2, 409, "sold_out");
    lane_expect(crowd, 3, 201, "");
    lane_expect(crowd, 4, 409, "sold_out");
    crowd_destroy(crowd);
    assert_int_equal(lane_transactions(), 1);
    witness_expect_exact(lane.witness, lane.product);
}

TEST(a_user_twice_in_a_batch)
{
    static const int64_t quantities[] = {2, 2, 1};

    shop_put(lane.server, lane.product, 50, ", \"limit_per_user\": 4");
    struct buy before = lane_buy(lane.product, 7, 1);
    shop_expect_buy(lane.server, &before, 201, "", NULL);
    struct crowd *crowd = lane_begin();
    for (int i = 0; i < 3; i++) {
        struct buy buy = lane_buy(lane.product, 7, quantities[i]);
        lane_queue(crowd, &buy);
    }
    lane_end(crowd);
    lane_expect(crowd, 1, 201, "");
    lane_expect(crowd, 2, 409, "limit_reached");
    lane_expect(crowd, 3, 201, "");
    crowd_destroy(crowd);
    assert_int_equal(witness_number(lane.witness,
                                    "SELECT units FROM purchase WHERE product_id = %lld"
                                    " AND user_id = 7",
                                    (long long)lane.product),
                     4);
    witness_expect_exact(lane.witness, lane.product);
}

TEST(keys_in_a_batch)
{
    shop_put(lane.server, lane.product, 2, NULL);
    shop_put(lane.server, lane.product + 1, 50, NULL);
    struct buy earlier = lane_buy(lane.product + 1, 8, 1);
    earlier.key = "earlier";
    shop_expect_buy(lane.server, &earlier, 201, "", NULL);
    struct crowd *crowd = lane_begin();
    struct buy buy = lane_buy(lane.product, 8, 2);
    buy.key = "twice";
    lane_queue(crowd, &buy);
    lane_queue(crowd, &buy);
    struct buy other = lane_buy(lane.product + 1, 8, 2);
    other.key = "twice";
    lane_queue(crowd, &other);
    lane_queue(crowd, &earlier);
    struct buy refused = lane_buy(lane.product, 8, 1);
    refused.key = "refused";
    lane_queue(crowd, &refused);
    lane_queue(crowd, &refused);
    lane_end(crowd);
    lane_expect(crowd, 1, 201, "");
    lane_expect(crowd, 2, 200, "");
    lane_expect(crowd, 3, 409, "idempotency_mismatch");
    lane_expect(crowd, 4, 200, "");
    lane_expect(crowd, 5, 409, "sold_out");
    lane_expect(crowd, 6, 409, "sold_out");
    crowd_destroy(crowd);
    witness_expect_exact(lane.witness, lane.product);
    assert_int_equal(witness_sale(lane.witness, lane.product + 1).orders, 1);
}

/* A row that PostgreSQL refuses brings the whole transaction down; the others are innocent. */
TEST(the_guilty_order_stands_alone)
{
    enum { ORDERS = 37 };

    shop_put(lane.server, lane.product, 100, NULL);
    witness_run(lane.witness,
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                " RAISE EXCEPTION 'no' USING ERRCODE = 'P0001'; END $$");
    witness_run(lane.witness,
                "CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW"
                " WHEN (new.user_id = %d) EXECUTE FUNCTION refuse()",
                GUILTY);
    struct crowd *crowd = lane_begin();
    for (int i = 0; i < ORDERS; i++) {
        struct buy buy = lane_buy(lane.product, i == 20 ? GUILTY : ++lane.users, 1);
        shop_crowd_buy(crowd, lane.server, &buy);
    }
    crowd_send(crowd);
    lane_wait_queued(ORDERS);
    lane_end(crowd);
    witness_run(lane.witness, "DROP FUNCTION refuse() CASCADE");
    if (crowd_count(crowd, 201, "") != ORDERS ||
        crowd_count(crowd, 503, "backend_unavailable") != 1)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    assert_int_equal(witness_sale(lane.witness, lane.product).sold, ORDERS - 1);
    witness_expect_exact(lane.witness, lane.product);
}

/* Their batch waits for a row; the order that can wait no longer is answered, the others go on. */
TEST(the_impatient_do_not_wait_for_the_others)
{
    int64_t until_us = clock_mono_us() + LANE_PATIENCE_US;

    lane_put_seen(NULL, 201, "");
    struct crowd *crowd = lane_begin();
    struct witness *second = witness_hold(lane.conninfo, lane.product);
    struct buy patient = lane_buy(lane.product, ++lane.users, 1);
    struct buy impatient = lane_buy(lane.product, ++lane.users, 1);
    impatient.more = "&wait_ms=3000";
    lane_queue(crowd, &patient);
    lane_queue(crowd, &impatient);
    lane_release();
    assert_true(crowd_wait(crowd, 2, until_us));
    lane_expect(crowd, 0, 201, "");
    lane_expect(crowd, 2, 503, "wait_timeout");
    /* Its batch would give up the row ten seconds later. */
    assert_in_range(crowd_at(crowd, 2)->took_us, 3000000, 20000000);
    witness_release(second);
    crowd_finish(crowd, LANE_PATIENCE_US);
    lane_expect(crowd, 1, 201, "");
    crowd_destroy(crowd);
    witness_expect_exact(lane.witness, lane.product);
}

/* Another product's row is held, and there are orders for it in the batch. */
TEST(a_held_product_keeps_no_other_waiting)
{
    shop_put(lane.server, lane.product, 10, NULL);
    shop_put(lane.server, lane.product + 1, 10, NULL);
    struct crowd *crowd = lane_begin();
    struct witness *holder = witness_hold(lane.conninfo, lane.product);
    struct buy held = lane_buy(lane.product, ++lane.users, 1);
    struct buy free_one = lane_buy(lane.product + 1, ++lane.users, 1);
    lane_queue(crowd, &held);
    lane_queue(crowd, &free_one);
    lane_release();
    assert_true(crowd_wait(crowd, 2, clock_mono_us() + LANE_PATIENCE_US));
    lane_expect(crowd, 0, 201, "");
    lane_expect(crowd, 2, 201, "");
    witness_release(holder);
    crowd_finish(crowd, LANE_PATIENCE_US);
    lane_expect(crowd, 1, 201, "");
    crowd_destroy(crowd);
}

static bool is_early(int64_t product)
{
    return witness_number(lane.witness, "SELECT early::int FROM product WHERE id = %lld",
                          (long long)product) == 1;
}

/* Commits of a batch that nobody has said of yet that they are released early: whose row is
 * held is passed by, and the others are said of. */
TEST(a_held_product_keeps_no_other_from_its_mark)
{
    static const char shared[] = "&wait_ms=60000&flush=shared";

    shop_put(lane.server, lane.product, 10, NULL);
    shop_put(lane.server, lane.product + 1, 10, NULL);
    struct buy buy = lane_buy(HELD_PRODUCT, 1, 1);
    buy.more = shared;
    for (int64_t until_us = clock_mono_us() + t_patience_us(); !is_early(HELD_PRODUCT);) {
        if (clock_mono_us() >= until_us)
            fail_msg("nothing is released early");
        shop_expect_buy(lane.server, &buy, 201, "", NULL);
    }
    struct crowd *crowd = lane_begin();
    struct witness *holder = witness_hold(lane.conninfo, lane.product);
    struct buy held = lane_buy(lane.product, ++lane.users, 1);
    struct buy free_one = lane_buy(lane.product + 1, ++lane.users, 1);
    held.more = free_one.more = shared;
    lane_queue(crowd, &held);
    lane_queue(crowd, &free_one);
    lane_release();
    assert_true(crowd_wait(crowd, 2, clock_mono_us() + LANE_PATIENCE_US));
    lane_expect(crowd, 2, 201, "");
    assert_true(is_early(lane.product + 1));
    witness_release(holder);
    crowd_finish(crowd, LANE_PATIENCE_US);
    lane_expect(crowd, 1, 201, "");
    crowd_destroy(crowd);
}

enum { HELD = 6, FIRST = 5000 };

/* Orders of as many products whose rows are held as of others, which are sold meanwhile. False: a
 * statement of somebody's took as long as his work may. */
static bool sell_beside_held_products(void)
{
    struct crowd *crowd = crowd_create();
    struct witness *holder = witness_open(lane.conninfo);
    struct buy buy = lane_buy(FIRST, ++lane.users, 1);

    shop_expect_buy_soon(lane.server, &buy, 201);
    witness_run(holder, "BEGIN");
    witness_run(holder, "SELECT 1 FROM product WHERE id >= %d AND id %% 2 = 0 FOR UPDATE", FIRST);
    for (int i = 0; i < 2 * HELD; i++) {
        buy = lane_buy(FIRST + i, ++lane.users, 1);
        shop_crowd_buy(crowd, lane.server, &buy);
    }
    crowd_send(crowd);
    assert_true(crowd_wait(crowd, HELD, clock_mono_us() + LANE_PATIENCE_US));
    int beside = crowd_count(crowd, 201, "");
    witness_release(holder);
    crowd_finish(crowd, LANE_PATIENCE_US);
    int sold = crowd_count(crowd, 201, "");
    if (beside > HELD || sold + crowd_count(crowd, 503, "backend_unavailable") != 2 * HELD)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    return beside == HELD && sold == 2 * HELD;
}

/* Looking for all of them takes longer than the work of a batch may. That is a second, and so a
 * machine where one statement takes as long gets several rounds. */
TEST(many_held_products_fail_no_other)
{
    enum { ROUNDS = 5 };
    struct server *usual = lane.server;
    bool sold = false;

    lane.server = server_start("--work-timeout-ms", "1000");
    for (int i = 0; i < 2 * HELD; i++)
        shop_put(lane.server, FIRST + i, 10, NULL);
    for (int round = 0; round < ROUNDS && !sold; round++)
        sold = sell_beside_held_products();
    if (!sold)
        fail_msg("in each of %d rounds somebody's time was over", (int)ROUNDS);
    server_stop(lane.server);
    lane.server = usual;
}

TEST(cancels_and_restocks_among_them)
{
    char id[SHOP_ID_SIZE];
    struct buy first = lane_buy(lane.product, 9, 3);

    shop_put(lane.server, lane.product, 3, NULL);
    shop_expect_buy(lane.server, &first, 201, "", id);
    struct crowd *crowd = lane_begin();
    struct buy restock = lane_buy(lane.product, 0, 2);
    struct buy buy = lane_buy(lane.product, ++lane.users, 5);
    lane_queue(crowd, &buy);
    shop_crowd_cancel(crowd, lane.server, id);
    shop_crowd_restock(crowd, lane.server, &restock);
    crowd_send(crowd);
    lane_end(crowd);
    if (crowd_count(crowd, 200, "") != 2)
        fail_msg("%s", crowd_summary(crowd));
    crowd_destroy(crowd);
    witness_expect_exact(lane.witness, lane.product);
    assert_int_equal(witness_sale(lane.witness, lane.product).cancelled, 1);
}

enum { CANCELS = 30 };

static void wait_accepted(int64_t orders)
{

    T_UNTIL(server_accepted(lane.server) >= orders);
}

/* Of orders that are there already, by number. */
static void begin_cancels(struct crowd *crowd, const char *strategy)
{
    int64_t accepted = server_accepted(lane.server);

    shop_put(lane.server, lane.product, 100, NULL);
    witness_run(lane.witness,
                "INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status,"
                " created_at) SELECT ('00000000-0000-7000-8000-' || lpad((id * 1000 + n)::text, 12,"
                " '0'))::uuid, id, epoch, n, 1, '%s', 1, now()"
                " FROM product, generate_series(1, %d) AS n WHERE id = %lld",
                strategy, CANCELS, (long long)lane.product);
    for (int i = 1; i <= CANCELS; i++) {
        char id[64];
        snprintf(id, sizeof id, "00000000-0000-7000-8000-%012lld",
                 (long long)lane.product * 1000 + i);
        shop_crowd_cancel(crowd, lane.server, id);
    }
    crowd_send(crowd);
    wait_accepted(accepted + CANCELS);
}

/* PostgreSQL numbers transactions as they begin to write. */
static int64_t cancelled_before(int64_t user)
{
    return witness_number(
        lane.witness,
        "SELECT count(*) FROM orders WHERE product_id = %lld AND status = 2 AND"
        " xmin::text::bigint < (SELECT xmin::text::bigint FROM orders WHERE product_id = %lld"
        " AND user_id = %lld)",
        (long long)lane.product, (long long)lane.product, (long long)user);
}

/* False: when the buy came too many of them were done, and it has proved nothing. */
static bool buy_amid_cancels(const char *strategy)
{
    enum { USER = 999, FEW = CANCELS / 3, MOST = CANCELS / 2 };
    struct crowd *cancels = crowd_create();
    struct crowd *buyer = crowd_create();
    struct buy buy = lane_buy(++lane.product, USER, 1);

    buy.strategy = strategy;
    begin_cancels(cancels, strategy);
    int64_t accepted = server_accepted(lane.server);
    shop_crowd_buy(buyer, lane.server, &buy);
    crowd_send(buyer);
    wait_accepted(accepted + 1);
    int64_t done = witness_sale(lane.witness, lane.product).cancelled;
    crowd_finish(buyer, LANE_PATIENCE_US);
    crowd_finish(cancels, LANE_PATIENCE_US);
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
TEST(cancels_do_not_eat_the_buys_time)
{
    static const char *const names[] = {"batch", "redis-queue"};
    struct server *usual = lane.server;

    lane.server = server_start("--work-ms", "100", "--lock-wait-ms", "60000", "--work-timeout-ms",
                               "60000", "--lock-ttl-ms", "90000");
    for (int i = 0; i < 2; i++) {
        T_UNTIL(buy_amid_cancels(names[i]));
    }
    server_stop(lane.server);
    lane.server = usual;
}

int main(void)
{
    return lane_run("seckill_batch");
}
