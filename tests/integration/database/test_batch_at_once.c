/*
 * A batch that is one statement: when it is, what it costs, and that it keeps what the transaction
 * of several statements keeps.
 */
#include "batch_plug.h"

static void one_statement_where_all_fit(void **state)
{
    (void)state;
    shop_put(plugged.server, plugged.product, 12, NULL);
    struct spent committed = plug_spent("committed");
    plug_sell(1); /* which learns the sale */
    plug_expect_spent("committed", committed, (struct spent){1 + 1, 1 + 2, 2});
    committed = plug_spent("committed");
    plug_sell(10);
    plug_expect_spent("committed", committed, (struct spent){1 + 10, 1 + 1, 2});
    assert_int_equal(plug_transactions(), 2);
    witness_expect_exact(plugged.witness, plugged.product);
}

/* Not with a limit; when there is none any more, the batch after the next one is one statement. It
 * is tried in vain once when too little is left, and when a PUT has begun another sale. */
static void one_statement_is_not_tried_in_vain(void **state)
{
    (void)state;
    shop_put(plugged.server, plugged.product, 100, ", \"limit_per_user\": 2");
    struct spent before = plug_spent("committed");
    plug_sell(5);
    plug_expect_spent("committed", before, (struct spent){1 + 5, 1 + 4, 2});
    plug_sell(5);
    plug_expect_spent("committed", before, (struct spent){1 + 5 + 1 + 5, 1 + 4 + 1 + 4, 4});
    shop_put(plugged.server, plugged.product, 100, NULL);
    before = plug_spent("committed");
    plug_sell(5);
    plug_expect_spent("committed", before, (struct spent){1 + 5, 1 + 2, 2});
    plug_sell(5);
    plug_expect_spent("committed", before, (struct spent){1 + 5 + 1 + 5, 1 + 2 + 1 + 1, 4});
    shop_put(plugged.server, plugged.product, 8, NULL);
    before = plug_spent("committed");
    plug_sell(5);
    plug_expect_spent("committed", before, (struct spent){1 + 5, 1 + 1 + 2, 2});
    before = plug_spent("committed");
    plug_sell(5);
    plug_expect_spent("committed", before, (struct spent){1 + 3, 1 + 1 + 2, 2});
    witness_expect_exact(plugged.witness, plugged.product);
}

/* The user's order, alone and as the first of two in a batch, is refused. */
static void expect_refused(const char *more, int first, const char *first_code, const char *code)
{
    struct buy buy = plug_buy(plugged.product, plug_put_seen(more, first, first_code), 1);

    shop_expect_buy(plugged.server, &buy, 409, code, NULL);
    buy.user = plug_put_seen(more, first, first_code);
    struct crowd *crowd = plug_begin();
    plug_queue(crowd, &buy);
    buy.user = ++plugged.users;
    plug_queue(crowd, &buy);
    plug_end(crowd);
    plug_expect(crowd, 1, 409, code);
    crowd_destroy(crowd);
    witness_expect_exact(plugged.witness, plugged.product);
}

static void one_statement_keeps_the_window(void **state)
{
    static const char *const windows[] = {", \"opens_at\": \"2100-01-01T00:00:00Z\"",
                                          ", \"closes_at\": \"2001-01-01T00:00:00Z\""};

    (void)state;
    for (int i = 0; i < 2; i++) {
        expect_refused(windows[i], 409, "sale_not_open", "sale_not_open");
        assert_int_equal(witness_sale(plugged.witness, plugged.product).stock, 10);
    }
}

static void one_statement_keeps_the_limit(void **state)
{
    (void)state;
    expect_refused(", \"limit_per_user\": 1", 201, "", "limit_reached");
    assert_int_equal(witness_sale(plugged.witness, plugged.product).sold, 2);
}

/* A PUT has the row, and the batch comes in between: it sells from the new sale's stock under the
 * new sale's epoch, or not at all. */
static void one_statement_is_of_one_sale(void **state)
{
    (void)state;
    plug_put_seen(NULL, 201, "");
    struct crowd *crowd = plug_begin();
    struct witness *second = witness_open(plugged.conninfo);
    witness_run(second, "BEGIN");
    witness_run(
        second,
        "UPDATE product SET epoch = epoch + 1, stock = 7, initial_stock = 7 WHERE id = %lld",
        (long long)plugged.product);
    for (int i = 0; i < 3; i++) {
        struct buy buy = plug_buy(plugged.product, ++plugged.users, 1);
        plug_queue(crowd, &buy);
    }
    plug_release();
    plug_wait_queued(0);
    witness_wait_blocked(plugged.witness, 1);
    witness_run(second, "COMMIT");
    witness_close(second);
    crowd_finish(crowd, PLUG_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 201, ""), 4);
    crowd_destroy(crowd);
    struct sale sale = witness_sale(plugged.witness, plugged.product);
    assert_int_equal(sale.orders, 3);
    assert_int_equal(sale.stock, 4);
    witness_expect_exact(plugged.witness, plugged.product);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(one_statement_where_all_fit),
        cmocka_unit_test(one_statement_is_not_tried_in_vain),
        cmocka_unit_test(one_statement_keeps_the_window),
        cmocka_unit_test(one_statement_keeps_the_limit),
        cmocka_unit_test(one_statement_is_of_one_sale),
    };

    return plug_run("seckill_batch_at_once", tests, sizeof tests / sizeof *tests);
}
