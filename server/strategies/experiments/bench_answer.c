/*
 * The benchmark's point of reference E, built into seckill-bench-server alone: an order is parsed,
 * stamped, given its id and confirmed at once, as if selling cost nothing.
 *
 * It takes the way of an order that a sold-out flag refuses (refuse_now), so whatever the edge
 * spends on an order is in E, and whatever lane, worker and backend spend is not. Nothing is sold:
 * the 201 is a lie, which is why no server that is installed knows this strategy.
 */
#include "sale/purchase.h"
#include "strategies/strategies.h"

static bool answer(void *instance, struct order *order)
{
    (void)instance;
    if (order->kind == ORDER_BUY)
        purchase_confirm(order);
    else
        order->outcome = ORDER_STRATEGY_UNAVAILABLE;
    return true;
}

const struct strategy strategy_bench_answer = {
    .name = "bench-answer",
    .summary = "Benchmark: every order is answered 201 at once and nothing is written.",
    .family = FAMILY_NOTHING,
    .control = true,
    .lane = {.workers = 1, .max_batch = 1},
    .refuse_now = answer,
};
