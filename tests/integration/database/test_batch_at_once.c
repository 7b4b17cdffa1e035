/*
 * A batch that is one statement: when it is, what it costs, and that it keeps what the transaction
 * of several statements keeps.
 */
#include "batch_lane.h"

TEST(one_statement_where_all_fit)
{
    shop_put(lane.server, lane.product, 12, NULL);
    struct spent committed = lane_spent("committed");
    lane_sell(1); /* which learns the sale */
    lane_expect_spent("committed", committed, (struct spent){1 + 1, 1 + 2, 2});
    committed = lane_spent("committed");
    lane_sell(10);
    lane_expect_spent("committed", committed, (struct spent){1 + 10, 1 + 1, 2});
    assert_int_equal(lane_transactions(), 2);
    witness_expect_exact(lane.witness, lane.product);
}

/* Not with a limit; when there is none any more, the batch after the next one is one statement. It
 * is tried in vain once when too little is left, and when a PUT has begun another sale. */
TEST(one_statement_is_not_tried_in_vain)
{
    shop_put(lane.server, lane.product, 100, ", \"limit_per_user\": 2");
    struct spent before = lane_spent("committed");
    lane_sell(5);
    lane_expect_spent("committed", before, (struct spent){1 + 5, 1 + 4, 2});
    lane_sell(5);
    lane_expect_spent("committed", before, (struct spent){1 + 5 + 1 + 5, 1 + 4 + 1 + 4, 4});
    shop_put(lane.server, lane.product, 100, NULL);
    before = lane_spent("committed");
    lane_sell(5);
    lane_expect_spent("committed", before, (struct spent){1 + 5, 1 + 2, 2});
    lane_sell(5);
    lane_expect_spent("committed", before, (struct spent){1 + 5 + 1 + 5, 1 + 2 + 1 + 1, 4});
    shop_put(lane.server, lane.product, 8, NULL);
    before = lane_spent("committed");
    lane_sell(5);
    lane_expect_spent("committed", before, (struct spent){1 + 5, 1 + 1 + 2, 2});
    before = lane_spent("committed");
    lane_sell(5);
    lane_expect_spent("committed", before, (struct spent){1 + 3, 1 + 1 + 2, 2});
    witness_expect_exact(lane.witness, lane.product);
}

/* The user's order, alone and as the first of two in a batch, is refused. */
static void expect_refused(const char *more, int first, const char *first_code, const char *code)
{
    struct buy buy = lane_buy(lane.product, lane_put_seen(more, first, first_code), 1);

    shop_expect_buy(lane.server, &buy, 409, code, NULL);
    buy.user = lane_put_seen(more, first, first_code);
    struct crowd *crowd = lane_begin();
    lane_queue(crowd, &buy);
    buy.user = ++lane.users;
    lane_queue(crowd, &buy);
    lane_end(crowd);
    lane_expect(crowd, 1, 409, code);
    crowd_destroy(crowd);
    witness_expect_exact(lane.witness, lane.product);
}

TEST(one_statement_keeps_the_window)
{
    static const char *const windows[] = {", \"opens_at\": \"2100-01-01T00:00:00Z\"",
                                          ", \"closes_at\": \"2001-01-01T00:00:00Z\""};

    for (int i = 0; i < 2; i++) {
        expect_refused(windows[i], 409, "sale_not_open", "sale_not_open");
        assert_int_equal(witness_sale(lane.witness, lane.product).stock, 10);
    }
}

TEST(one_statement_keeps_the_limit)
{
    expect_refused(", \"limit_per_user\": 1", 201, "", "limit_reached");
    assert_int_equal(witness_sale(lane.witness, lane.product).sold, 2);
}

/* A PUT has the row, and the batch comes in between: it sells from the new sale's stock under the
 * new sale's epoch, or not at all. */
TEST(one_statement_is_of_one_sale)
{
    lane_put_seen(NULL, 201, "");
    struct crowd *crowd = lane_begin();
    struct witness *second = witness_open(lane.conninfo);
    witness_run(second, "BEGIN");
    witness_run(
        second,
        "UPDATE product SET epoch = epoch + 1, stock = 7, initial_stock = 7 WHERE id = %lld",
        (long long)lane.product);
    for (int i = 0; i < 3; i++) {
        struct buy buy = lane_buy(lane.product, ++lane.users, 1);
        lane_queue(crowd, &buy);
    }
    lane_release();
    lane_wait_queued(0);
    witness_wait_blocked(lane.witness, 1);
    witness_run(second, "COMMIT");
    witness_close(second);
    crowd_finish(crowd, LANE_PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 201, ""), 4);
    crowd_destroy(crowd);
    struct sale sale = witness_sale(lane.witness, lane.product);
    assert_int_equal(sale.orders, 3);
    assert_int_equal(sale.stock, 4);
    witness_expect_exact(lane.witness, lane.product);
}

int main(void)
{
    return lane_run("seckill_batch_at_once");
}
