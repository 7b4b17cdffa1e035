/*
 * An instance is killed while it sells (SIGKILL), stays away for a while and is started again. What
 * it held is nobody's; what it had promised has to be true. redis-setnx is known to fail: its lock
 * and the lock's lease are two commands, and between them it is nobody's for ever. Redis is put a
 * few milliseconds away, so that there is time between the two.
 */
#include "loadtest/faults/fault.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

static bool begin(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    struct instance *instance = &site->instances[event->victim];
    if (!instance_all_alive(instance, 1, error))
        return false;
    instance_kill(instance);
    return true;
}

static bool heal(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    site->restarted++;
    return instance_start_again(&site->instances[event->victim], &site->options, site->plan->binary,
                                error);
}

/* Sent, and cut off when the instance ended. */
static int64_t cut_off(const struct fault_site *site, const struct fault_interval *interval)
{
    int64_t count = 0;
    for (size_t i = 0; i < site->ledger.ops_count; i++) {
        const struct ledger_op *op = &site->ledger.ops[i];
        count += op->result == LEDGER_INFO && op->status == 0 &&
                 op->start_us < interval->begin_us && op->end_us < interval->heal_us &&
                 op->end_us > interval->begin_us - CLOCK_US_PER_S;
    }
    return count;
}

static bool did_it_bite(const struct fault_site *site, char evidence[FAULT_TEXT_SIZE])
{
    int64_t orders = 0;
    for (size_t i = 0; i < site->count; i++)
        orders += cut_off(site, &site->intervals[i]);
    snprintf(evidence, FAULT_TEXT_SIZE,
             "%zu times an instance was killed with orders under way, %" PRId64
             " in all, and started again %" PRId64 " times",
             site->count, orders, site->restarted);
    return site->count > 0 && orders > 0;
}

const struct fault fault_kill = {
    .name = "kill",
    .summary = "an instance is killed while it sells, and started again",
    .asks = FAULT_ASKS_MANY,
    .controls = {"redis-setnx"},
    .settings = {.lease_ms = 3000,
                 .work_timeout_ms = 2500,
                 .work_ms = 5,
                 .lock_delay_us = 10000,
                 .events = 3,
                 .shortest_ms = 300,
                 .longest_ms = 500,
                 .gap_ms = 400,
                 .rest_ms = 4000},
    .begin = begin,
    .heal = heal,
    .did_it_bite = did_it_bite,
};
