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

static void one_statement_keeps_the_window(void **state)
{
    static const char *const windows[] = {", \"opens_at\": \"2100-01-01T00:00:00Z\"",
                                          ", \"closes_at\": \"2001-01-01T00:00:00Z\""};

    (void)state;
    for (int i = 0; i < 2; i++) {
        shop_put(plugged.server, plugged.product + i, 10, windows[i]);
        struct crowd *crowd = plug_begin();
        for (int n = 0; n < 2; n++) {
            struct buy buy = plug_buy(plugged.product + i, ++plugged.users, 1);
            plug_queue(crowd, &buy);
        }
        plug_end(crowd);
        assert_int_equal(crowd_count(crowd, 409, "sale_not_open"), 2);
        crowd_destroy(crowd);
        assert_int_equal(witness_sale(plugged.witness, plugged.product + i).stock, 10);
    }
}

/* A PUT has the row, and the batch comes in between: it sells from the new sale's stock under the
 * new sale's epoch, or not at all. */
static void one_statement_is_of_one_sale(void **state)
{
    (void)state;
    shop_put(plugged.server, plugged.product, 10, NULL);
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
    witness_run(plugged.holder, "ROLLBACK");
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
        cmocka_unit_test(one_statement_is_of_one_sale),
    };

    return plug_run("seckill_batch_at_once", tests, sizeof tests / sizeof *tests);
}
