/*
 * wllock: the algorithm of the library that this service began from, as it is.
 *
 * A fair local queue (the keyed lane: one order of a product at a time, in order of arrival), then
 * one representative spins on Redis for half of the time that is left, runs the body for one order,
 * and deletes the key whoever owns it (lock/wllock.c). Its wait_timeout comes when its half is
 * over, before the order's own deadline; the spin ends at the deadline at the latest, which the
 * original's need not. Right while nobody is paused past a lease; how else it fails, and what
 * redis-queue does instead, is told in docs/WLLOCK.md. A crash leaves the lock for one lease.
 */
#include "sale/purchase.h"
#include "strategies/strategies.h"

const struct strategy strategy_wllock = {
    .name = "wllock",
    .summary = "The seed's library: a local queue, one spinning representative, one order a hold.",
    .family = FAMILY_REDIS_LOCK,
    .needs = NEED_POSTGRESQL | NEED_REDIS,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY,
    .bodies = true,
    .lane = {.in_flight_per_product = 1, .keyed = true, .workers = 16, .max_batch = 1},
    .lock = &lock_wllock,
    .sell = body_sell_chosen,
};
