/*
 * The lane without its workers: mailboxes in order, one batch a product at a time where the rule
 * says so, bounds, expiry.
 */
#include "lib/t.h"
#include "unit/dispatch/lane_orders.h"

TEST(orders_of_one_product_come_out_in_order)
{
    struct lane *lane = lane_create(&keyed, 100);
    struct order orders[5];
    int count = 0;

    for (int i = 0; i < 5; i++) {
        orders[i] = order_for(7, i);
        assert_null(put_one(lane, &orders[i]));
    }
    struct mailbox *mailbox = poll_lane(lane);
    assert_non_null(mailbox);
    assert_int_equal(mailbox_product(mailbox), 7);
    struct order *list = lane_take(lane, mailbox, 3, &count);
    assert_int_equal(count, 3);
    for (int i = 0; i < 3; i++, list = list->next)
        assert_int_equal(list->user_id, i);
    assert_null(list);
    list = lane_take(lane, mailbox, 3, &count);
    assert_int_equal(count, 2);
    assert_int_equal(list->user_id, 3);
    lane_done(lane, mailbox, 5);
    end_batch(lane, mailbox);
    assert_int_equal(lane_counts(lane).mailboxes, 0);
    assert_int_equal(lane_counts(lane).working, 0);
    lane_destroy(lane);
}

TEST(a_keyed_product_has_one_batch_in_flight)
{
    struct lane *lane = lane_create(&keyed, 100);
    struct order first = order_for(1, 1);
    struct order second = order_for(1, 2);
    struct order other = order_for(2, 3);
    int count = 0;

    put_one(lane, &first);
    put_one(lane, &second);
    struct mailbox *mailbox = poll_lane(lane);
    assert_ptr_equal(lane_take(lane, mailbox, 1, &count), &first);
    assert_null(poll_lane(lane));

    put_one(lane, &other);
    struct mailbox *free_one = poll_lane(lane);
    assert_non_null(free_one);
    assert_int_equal(mailbox_product(free_one), 2);

    end_batch(lane, mailbox);
    mailbox = poll_lane(lane);
    assert_ptr_equal(lane_take(lane, mailbox, 1, &count), &second);
    end_batch(lane, mailbox);
    lane_take(lane, free_one, 1, &count);
    end_batch(lane, free_one);
    lane_destroy(lane);
}

TEST(a_rule_of_four_lets_four_in)
{
    const struct lane_rule four = {.in_flight_per_product = 4, .workers = 16, .max_batch = 1};
    struct lane *lane = lane_create(&four, 100);
    struct order orders[6];
    struct mailbox *taken[4];
    int count = 0;

    for (int i = 0; i < 6; i++) {
        orders[i] = order_for(1, i);
        put_one(lane, &orders[i]);
    }
    for (int i = 0; i < 4; i++) {
        taken[i] = poll_lane(lane);
        assert_non_null(taken[i]);
        assert_non_null(lane_take(lane, taken[i], 1, &count));
        lane_offer(lane, taken[i]);
    }
    assert_null(poll_lane(lane));
    for (int i = 0; i < 4; i++)
        lane_leave(lane, taken[i]);
    assert_non_null(lane_flush(lane, ORDER_SHUTTING_DOWN));
    struct mailbox *emptied = poll_lane(lane);
    assert_null(lane_take(lane, emptied, 1, &count));
    end_batch(lane, emptied);
    lane_destroy(lane);
}

TEST(ready_products_take_turns)
{
    struct lane *lane = lane_create(&keyed, 100);
    struct order orders[6];
    int count = 0;

    for (int i = 0; i < 6; i++) {
        orders[i] = order_for(i < 4 ? 1 : i, i); /* four for product 1, one each for 4 and 5 */
        put_one(lane, &orders[i]);
    }
    const int64_t expected[] = {1, 4, 5, 1, 1, 1};
    for (int i = 0; i < 6; i++) {
        struct mailbox *mailbox = poll_lane(lane);
        assert_int_equal(mailbox_product(mailbox), expected[i]);
        lane_take(lane, mailbox, 1, &count);
        end_batch(lane, mailbox);
    }
    assert_null(poll_lane(lane));
    lane_destroy(lane);
}

TEST(a_keyed_lane_is_full_by_product_another_in_all)
{
    const struct lane_rule rules[] = {keyed, {.workers = 4, .max_batch = 1}};

    for (int i = 0; i < 2; i++) {
        struct lane *lane = lane_create(&rules[i], 2);
        struct order orders[4] = {order_for(1, 1), order_for(1, 2), order_for(1, 3),
                                  order_for(2, 4)};
        assert_null(put_one(lane, &orders[0]));
        assert_null(put_one(lane, &orders[1]));
        assert_ptr_equal(put_one(lane, &orders[2]), &orders[2]);
        assert_int_equal(orders[2].outcome, ORDER_QUEUE_FULL);
        if (rules[i].keyed) {
            assert_null(put_one(lane, &orders[3]));
        } else {
            assert_ptr_equal(put_one(lane, &orders[3]), &orders[3]);
            assert_int_equal(orders[3].outcome, ORDER_QUEUE_FULL);
        }
        lane_flush(lane, ORDER_SHUTTING_DOWN);
        for (struct mailbox *mailbox; (mailbox = poll_lane(lane));)
            end_batch(lane, mailbox);
        lane_destroy(lane);
    }
}

TEST(an_order_that_may_not_wait_is_taken_only_into_free_hands)
{
    const struct lane_rule one_worker = {
        .in_flight_per_product = 1, .keyed = true, .workers = 1, .max_batch = 1};
    struct lane *lane = lane_create(&one_worker, 10);
    struct order orders[4] = {order_for(1, 1), order_for(1, 2), order_for(2, 3), order_for(1, 4)};
    int count = 0;

    for (int i = 0; i < 4; i++)
        orders[i].no_wait = true;
    assert_null(put_one(lane, &orders[0]));
    assert_true(lane_worker_joins(lane));
    struct mailbox *mailbox = poll_lane(lane);
    lane_take(lane, mailbox, 1, &count);

    assert_ptr_equal(put_one(lane, &orders[1]), &orders[1]); /* the product is taken */
    assert_int_equal(orders[1].outcome, ORDER_QUEUE_TIMEOUT);
    assert_ptr_equal(put_one(lane, &orders[2]), &orders[2]); /* the worker is */
    assert_int_equal(orders[2].outcome, ORDER_QUEUE_TIMEOUT);
    assert_int_equal(lane_counts(lane).mailboxes, 1);

    end_batch(lane, mailbox);
    assert_true(lane_worker_leaves(lane, false));
    assert_null(put_one(lane, &orders[3]));
    mailbox = poll_lane(lane);
    lane_take(lane, mailbox, 1, &count);
    end_batch(lane, mailbox);
    lane_destroy(lane);
}

/* One who buys again as soon as he is answered does not find his own order in the way. */
TEST(who_has_decided_all_is_as_good_as_gone)
{
    const struct lane_rule one_worker = {
        .in_flight_per_product = 1, .keyed = true, .workers = 1, .max_batch = 1};
    struct lane *lane = lane_create(&one_worker, 10);
    struct order first = order_for(1, 1);
    struct order second = order_for(1, 2);
    int count = 0;

    second.no_wait = true;
    put_one(lane, &first);
    assert_true(lane_worker_joins(lane));
    struct mailbox *mailbox = poll_lane(lane);
    lane_take(lane, mailbox, 1, &count);
    lane_done(lane, mailbox, 1);
    assert_null(put_one(lane, &second));
    end_batch(lane, mailbox);
    mailbox = poll_lane(lane);
    assert_ptr_equal(lane_take(lane, mailbox, 1, &count), &second);
    lane_done(lane, mailbox, 1);
    end_batch(lane, mailbox);
    lane_destroy(lane);
}

TEST(expiry_takes_what_is_over_and_leaves_the_rest_in_order)
{
    struct lane *lane = lane_create(&keyed, 10);
    struct order orders[5];
    int count = 0;

    for (int i = 0; i < 5; i++) {
        orders[i] = order_for(1, i);
        orders[i].wait_until_us = i % 2 ? 1000 : 5000;
        put_one(lane, &orders[i]);
    }
    assert_null(lane_expire(lane, 999));
    struct order *late = lane_expire(lane, 1000);
    for (count = 0; late; late = late->next, count++) {
        assert_int_equal(late->outcome, ORDER_QUEUE_TIMEOUT);
        assert_int_equal(late->user_id % 2, 1);
    }
    assert_int_equal(count, 2);
    assert_int_equal(lane_counts(lane).waiting, 3);
    struct mailbox *mailbox = poll_lane(lane);
    struct order *list = lane_take(lane, mailbox, 10, &count);
    assert_int_equal(count, 3);
    for (int i = 0; i < 5; i += 2, list = list->next)
        assert_int_equal(list->user_id, i);
    end_batch(lane, mailbox);
    lane_destroy(lane);
}

/* What the lane remembers of the next deadline follows what comes in and what is left. */
TEST(an_order_that_comes_later_may_be_over_sooner)
{
    static const int64_t until_us[] = {3000, 1000, 2000};
    struct order orders[3];

    struct lane *lane = lane_create(&keyed, 10);
    for (int i = 0; i < 3; i++) {
        orders[i] = order_for(1, i);
        orders[i].wait_until_us = until_us[i];
        assert_null(lane_expire(lane, 999));
        put_one(lane, &orders[i]);
    }
    assert_ptr_equal(lane_expire(lane, 1000), &orders[1]);
    assert_null(lane_expire(lane, 1999));
    assert_ptr_equal(lane_expire(lane, 2999), &orders[2]);
    assert_ptr_equal(lane_expire(lane, 3000), &orders[0]);
    assert_null(lane_expire(lane, INT64_MAX));
    end_batch(lane, poll_lane(lane)); /* the mailbox, empty, still stands in the ready list */
    lane_destroy(lane);
}

TEST(a_closing_lane_refuses_and_lets_its_workers_go)
{
    struct lane *lane = lane_create(&keyed, 10);
    struct order order = order_for(1, 1);

    lane_wake(lane, true);
    assert_null(lane_wait(lane, INT64_MAX / 2));
    assert_ptr_equal(put_one(lane, &order), &order);
    assert_int_equal(order.outcome, ORDER_SHUTTING_DOWN);
    lane_destroy(lane);
}

TEST(a_worker_stays_while_there_is_work)
{
    struct lane *lane = lane_create(&keyed, 10);
    struct order orders[2] = {order_for(1, 1), order_for(2, 2)};

    put_one(lane, &orders[0]);
    put_one(lane, &orders[1]);
    assert_true(lane_worker_joins(lane));
    assert_false(lane_worker_leaves(lane, false));
    assert_true(lane_worker_leaves(lane, true));
    assert_int_equal(lane_counts(lane).workers, 0);
    assert_int_equal(lane_missing_workers(lane), 2);
    assert_true(lane_worker_joins(lane));
    lane_flush(lane, ORDER_SHUTTING_DOWN);
    for (struct mailbox *mailbox; (mailbox = poll_lane(lane));)
        end_batch(lane, mailbox);
    assert_true(lane_worker_leaves(lane, false));
    lane_destroy(lane);
}

/* A worker between two batches is a free hand, also where the lane may have no more of them. */
TEST(who_is_on_the_way_takes_what_may_not_wait)
{
    const struct lane_rule rule = {.in_flight_per_product = 1, .workers = 1, .max_batch = 1};
    struct lane *lane = lane_create(&rule, 10);
    struct order orders[2] = {order_for(1, 1), order_for(2, 2)};
    int count = 0;

    orders[1].no_wait = true;
    put_one(lane, &orders[0]);
    assert_true(lane_worker_joins(lane));
    for (int i = 0; i < 2; i++) {
        struct mailbox *mailbox = poll_lane(lane);
        lane_take(lane, mailbox, 1, &count);
        assert_int_equal(count, 1);
        lane_done(lane, mailbox, 1);
        end_batch(lane, mailbox);
        if (i == 0)
            assert_null(put_one(lane, &orders[1]));
    }
    lane_destroy(lane);
}

/* A worker on the way to an order counts as there: the order takes one worker, however often it
 * asks and however long the worker takes. */
TEST(as_many_workers_join_as_are_wanted)
{
    struct lane *lane = lane_create(&keyed, 10);
    struct order orders[6];

    assert_false(lane_worker_joins(lane));
    for (int i = 0; i < 2; i++) {
        orders[i] = order_for(1 + i, 1);
        put_one(lane, &orders[i]);
    }
    assert_int_equal(lane_missing_workers(lane), 2);
    assert_true(lane_worker_joins(lane));
    assert_int_equal(lane_missing_workers(lane), 1);
    assert_true(lane_worker_joins(lane));
    assert_false(lane_worker_joins(lane));

    struct mailbox *mailbox = poll_lane(lane);
    assert_non_null(mailbox);
    assert_false(lane_worker_joins(lane)); /* one has his order, one is on the way to the other */
    for (int i = 2; i < 6; i++) {
        orders[i] = order_for(1 + i, 1);
        put_one(lane, &orders[i]);
    }
    assert_int_equal(lane_missing_workers(lane), 2); /* the rule has four */
    assert_true(lane_worker_joins(lane));
    assert_true(lane_worker_joins(lane));
    assert_false(lane_worker_joins(lane));

    end_batch(lane, mailbox);
    lane_flush(lane, ORDER_SHUTTING_DOWN);
    while ((mailbox = poll_lane(lane)))
        end_batch(lane, mailbox);
    for (int i = 0; i < 4; i++)
        assert_true(lane_worker_leaves(lane, false));
    assert_int_equal(lane_counts(lane).coming, 0);
    lane_destroy(lane);
}
