/* A lane's rule and orders for it, for tests of the lane. */
#ifndef SECKILL_TESTS_UNIT_DISPATCH_LANE_ORDERS_H
#define SECKILL_TESTS_UNIT_DISPATCH_LANE_ORDERS_H

#include "base/clock.h"
#include "dispatch/lane.h"

static const struct lane_rule keyed = {
    .in_flight_per_product = 1, .keyed = true, .workers = 4, .max_batch = 1};

static inline struct order order_for(int64_t product_id, int64_t user_id)
{
    return (struct order){
        .product_id = product_id, .user_id = user_id, .quantity = 1, .wait_until_us = INT64_MAX};
}

static inline struct order *put_one(struct lane *lane, struct order *order)
{
    order->next = NULL;
    return lane_put(lane, order);
}

/* A ready mailbox now, or none. */
static inline struct mailbox *poll_lane(struct lane *lane)
{
    return lane_wait(lane, clock_mono_us());
}

/* Nothing more is taken for it, and it is over. */
static inline void end_batch(struct lane *lane, struct mailbox *mailbox)
{
    lane_offer(lane, mailbox);
    lane_leave(lane, mailbox);
}

#endif
