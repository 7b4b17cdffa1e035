/*
 * A holder stalls: one instance is stopped as a whole (SIGSTOP) for longer than a lock's lease, and
 * goes on as if nothing had been.
 *
 * Where it is stopped matters. A stop within its transaction is ended by PostgreSQL before the
 * lease is over (idle_in_transaction_session_timeout is --work-timeout-ms, which is less than
 * --lock-ttl-ms); after one between the lock's answer and BEGIN the holder sees by its own clock
 * that the lease is over. Neither shows anything. So the pause is split, as a busy machine splits
 * it: it begins while the lock's answer is on its way, lets the holder go on just long enough to
 * look at its clock, which still says yes, and to read, and goes on within the work. Redis is put
 * some milliseconds away, so that answers are on their way at any time, and the work is longer than
 * the moment between the two halves.
 */
#include "loadtest/faults/fault.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

/* Whether its lock is a lease, so that one can be over. */
static bool has_lease(const struct api_strategy *strategy)
{
    return api_needs(strategy, "redis") || api_needs(strategy, "redlock") ||
           fault_locks_a_row(strategy);
}

/* Leases of whole seconds (memcached) and sessions of four and more (ZooKeeper) outlast this pause,
 * and a longer one would outlast the work's time. Redlock asks its nodes one after the other, with
 * little time for each: who is stopped meanwhile has lost, and is never met. */
static bool concerns(const struct api_strategy *strategy)
{
    return !api_needs(strategy, "memcached") && !api_needs(strategy, "zookeeper") &&
           !api_needs(strategy, "redlock");
}

/* The halves' lengths: the first is less than the lease, the second than the work's time. */
enum { FIRST_HALF_MS = 350, BETWEEN_MS = 30 };

static bool begin(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    struct instance *instance = &site->instances[event->victim];
    if (!instance_stall(instance, error))
        return false;
    clock_sleep_until(clock_mono_us() + FIRST_HALF_MS * CLOCK_US_PER_MS);
    instance_resume(instance);
    clock_sleep_until(clock_mono_us() + BETWEEN_MS * CLOCK_US_PER_MS);
    return instance_stall(instance, error);
}

static bool heal(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    (void)error;
    instance_resume(&site->instances[event->victim]);
    return true;
}

/* Of the same product, begun when the lease was over and answered before the pause was: another
 * instance's. */
static bool sold_beside(const struct fault_site *site, const struct fault_interval *pause,
                        int64_t product)
{
    int64_t over_us = pause->begin_us + site->plan->fault->settings.lease_ms * CLOCK_US_PER_MS;
    for (size_t i = 0; i < site->ledger.ops_count; i++) {
        const struct ledger_op *op = &site->ledger.ops[i];
        if (op->kind == LEDGER_BUY && op->result == LEDGER_OK && op->product == product &&
            op->end_us > over_us && op->end_us < pause->heal_us)
            return true;
    }
    return false;
}

/* Orders that the stopped instance had under way; with `overtaken` those alone of whose product
 * another sold meanwhile. */
static int64_t under_way(const struct fault_site *site, const struct fault_interval *pause,
                         bool overtaken)
{
    int64_t count = 0;
    for (size_t i = 0; i < site->ledger.ops_count; i++) {
        const struct ledger_op *op = &site->ledger.ops[i];
        if (op->kind == LEDGER_BUY && op->start_us < pause->begin_us &&
            op->end_us > pause->heal_us && op->end_us != LEDGER_NEVER)
            count += !overtaken || sold_beside(site, pause, op->product);
    }
    return count;
}

/* Holds whose lease was over when they came to an end; -1: nobody could be asked. */
static int64_t overruns(const struct fault_site *site)
{
    int64_t sum = 0;
    for (size_t i = 0; i < site->instances_count; i++) {
        int64_t one = 0;
        struct error ignored;
        if (!api_counter(site->api, site->instances[i].url, "seckill_lease_overruns_total",
                         site->plan->strategy->name, &one, &ignored))
            return -1;
        sum += one;
    }
    return sum;
}

/* A lease has to have lapsed, and another to have sold beside its holder. A holder without a lease
 * keeps the others waiting, as long as PostgreSQL lets it. */
static bool did_it_bite(const struct fault_site *site, char evidence[FAULT_TEXT_SIZE])
{
    int64_t orders = 0, beside = 0, lapsed = overruns(site), shortest_us = INT64_MAX;
    bool leases = has_lease(site->plan->strategy);
    for (size_t i = 0; i < site->count; i++) {
        const struct fault_interval *pause = &site->intervals[i];
        int64_t length_us = pause->heal_us - pause->begin_us;
        shortest_us = length_us < shortest_us ? length_us : shortest_us;
        orders += under_way(site, pause, false);
        beside += under_way(site, pause, true);
    }
    snprintf(evidence, FAULT_TEXT_SIZE,
             "%zu pauses, the shortest of %" PRId64 " ms, past a lease of %" PRId64 " ms; %" PRId64
             " orders were under way in the stopped instance, %" PRId64
             " of them while another sold their product; %" PRId64
             " holds had lapsed at their release",
             site->count, site->count ? shortest_us / CLOCK_US_PER_MS : 0,
             site->plan->fault->settings.lease_ms, orders, beside, lapsed);
    return site->count > 0 &&
           shortest_us > site->plan->fault->settings.lease_ms * CLOCK_US_PER_MS && orders > 0 &&
           (!leases || (beside > 0 && lapsed > 0));
}

const struct fault fault_stall = {
    .name = "stall",
    .summary = "an instance is stopped for longer than a lock's lease, and goes on",
    .asks = FAULT_ASKS_PAUSED,
    .controls = {"redis-token", "redis-expiry"},
    .settings = {.lease_ms = 600,
                 .work_timeout_ms = 590,
                 .work_ms = 60,
                 .lock_delay_us = 40000,
                 .events = 3,
                 .shortest_ms = 780,
                 .longest_ms = 850,
                 .gap_ms = 300,
                 .rest_ms = 800},
    .concerns = concerns,
    .begin = begin,
    .heal = heal,
    .did_it_bite = did_it_bite,
};
