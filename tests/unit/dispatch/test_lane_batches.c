/* Several batches of a product at a time: when a lane lets another one begin. */
#include "lib/t.h"
#include "unit/dispatch/lane_orders.h"

static const struct lane_rule two_batches = {
    .in_flight_per_product = 2, .workers = 4, .max_batch = 10};

/* Orders for product 1. */
static void put_some(struct lane *lane, struct order *orders, int count)
{
    for (int i = 0; i < count; i++) {
        orders[i] = order_for(1, i);
        assert_null(put_one(lane, &orders[i]));
    }
}

/* The worker that has begun a batch takes the orders that come meanwhile; another worker would find
 * next to nothing. */
TEST(no_batch_begins_while_another_forms)
{
    struct lane *lane = lane_create(&two_batches, 100);
    struct order orders[6];
    int count = 0;

    put_some(lane, orders, 1);
    struct mailbox *mailbox = poll_lane(lane);
    lane_take(lane, mailbox, 1, &count);
    put_some(lane, orders + 1, 3);
    assert_null(poll_lane(lane));
    lane_take(lane, mailbox, 9, &count);
    assert_int_equal(count, 3);
    put_some(lane, orders + 4, 2);
    assert_null(poll_lane(lane));
    lane_offer(lane, mailbox);
    struct mailbox *second = poll_lane(lane);
    assert_ptr_equal(second, mailbox);
    lane_take(lane, second, 10, &count);
    assert_int_equal(count, 2);
    lane_leave(lane, mailbox);
    end_batch(lane, second);
    lane_destroy(lane);
}

/* Nor when one that was under way beside it ends meanwhile. */
TEST(no_batch_begins_because_another_ends_while_one_forms)
{
    struct lane *lane = lane_create(&two_batches, 100);
    struct order orders[6];
    int count = 0;

    put_some(lane, orders, 1);
    struct mailbox *ends = poll_lane(lane);
    lane_take(lane, ends, 1, &count);
    lane_offer(lane, ends);
    put_some(lane, orders + 1, 1);
    struct mailbox *forms = poll_lane(lane);
    assert_non_null(forms);
    lane_take(lane, forms, 1, &count);
    put_some(lane, orders + 2, 4);
    lane_leave(lane, ends);
    assert_null(poll_lane(lane));
    lane_take(lane, forms, 9, &count);
    assert_int_equal(count, 4);
    lane_offer(lane, forms);
    lane_leave(lane, forms);
    lane_destroy(lane);
}

/* However few they are, when no batch is under way. */
TEST(the_rest_follows_the_last_batch)
{
    struct lane *lane = lane_create(&two_batches, 100);
    struct order orders[5];
    int count = 0;

    put_some(lane, orders, 4);
    struct mailbox *mailbox = poll_lane(lane);
    lane_take(lane, mailbox, 10, &count);
    lane_offer(lane, mailbox);
    put_some(lane, orders + 4, 1);
    lane_leave(lane, mailbox);
    mailbox = poll_lane(lane);
    assert_non_null(mailbox);
    lane_take(lane, mailbox, 10, &count);
    assert_int_equal(count, 1);
    end_batch(lane, mailbox);
    lane_destroy(lane);
}
