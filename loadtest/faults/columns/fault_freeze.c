/*
 * What holds the lock or the reservation stops (SIGSTOP: Redis, two of Redlock's three, memcached,
 * ZooKeeper) and goes on, after longer than a lease and than a session of ZooKeeper's. Nobody can
 * lock meanwhile; what was asked of it stands in its socket and is done when it wakes, for callers
 * who have long given up. redis-setnx is known to fail: such a late SETNX is a lock that nobody
 * ever gives a lease. For private backends alone, by the script that started them (--stack).
 *
 * An order's work ends before its lease does, and so before the backend wakes: nobody has to be
 * right when his lease is over, as in `stall`.
 */
#include "loadtest/faults/fault.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

/* A need of strategies, and a server of the stack that is stopped for it. */
static const struct {
    const char *need, *server;
} servers[] = {{"redis", "locks"},      {"stock-redis", "stock"},   {"redlock", "redlock1"},
               {"redlock", "redlock2"}, {"memcached", "memcached"}, {"zookeeper", "zookeeper"}};
enum { SERVERS = sizeof servers / sizeof servers[0] };

/* Longer than the lease, and than the shortest session that ZooKeeper grants (two of its ticks). */
enum { SESSION_MS = 4000, LEAST_MS = SESSION_MS + 500 };

static bool concerns(const struct api_strategy *strategy)
{
    for (size_t i = 0; i < SERVERS; i++) {
        if (api_needs(strategy, servers[i].need))
            return true;
    }
    return false;
}

/* To all that the strategy needs, also when one of them cannot be told. */
static bool tell_all(const struct fault_site *site, const char *signal, struct error *error)
{
    bool told = true;
    for (size_t i = 0; i < SERVERS; i++) {
        struct error second;
        if (api_needs(site->plan->strategy, servers[i].need) &&
            !fault_tell_stack(site, "signal", servers[i].server, signal, told ? error : &second))
            told = false;
    }
    return told;
}

static bool begin(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    struct error ignored;
    (void)event;
    if (!tell_all(site, "STOP", error)) {
        (void)tell_all(site, "CONT", &ignored);
        return false;
    }
    site->frozen.begin_us = clock_mono_us();
    return true;
}

static bool heal(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    (void)event;
    /* Telling may take its time on a busy machine, so that the schedule's end of it is here
     * already.
     */
    (void)fault_wait_until(site, site->frozen.begin_us + LEAST_MS * CLOCK_US_PER_MS);
    site->frozen.heal_us = clock_mono_us();
    return tell_all(site, "CONT", error);
}

/* Buys that were begun while it stood still, and not sold before it went on. */
static int64_t kept_waiting(const struct fault_site *site)
{
    const struct fault_interval *frozen = &site->frozen;
    int64_t count = 0;
    for (size_t i = 0; i < site->ledger.ops_count; i++) {
        const struct ledger_op *op = &site->ledger.ops[i];
        count += op->kind == LEDGER_BUY && op->start_us > frozen->begin_us &&
                 op->start_us < frozen->heal_us &&
                 (op->result != LEDGER_OK || op->end_us > frozen->heal_us);
    }
    return count;
}

static bool did_it_bite(const struct fault_site *site, char evidence[FAULT_TEXT_SIZE])
{
    const struct fault_interval *frozen = &site->frozen;
    int64_t orders = kept_waiting(site), length_us = frozen->heal_us - frozen->begin_us;
    snprintf(evidence, FAULT_TEXT_SIZE,
             "it stood still for %" PRId64 " ms, past a lease of %" PRId64
             " ms and a session of %d ms; %" PRId64
             " orders that came meanwhile were not sold before it went on",
             length_us / CLOCK_US_PER_MS, site->plan->fault->settings.lease_ms, SESSION_MS, orders);
    return orders > 0 && length_us >= LEAST_MS * CLOCK_US_PER_MS;
}

const struct fault fault_freeze = {
    .name = "freeze",
    .summary = "what holds the lock or the reservation stops and goes on (needs --stack)",
    .asks = FAULT_ASKS_MANY,
    .controls = {"redis-setnx"},
    .needs_stack = true,
    .settings = {.lease_ms = 1200,
                 .work_timeout_ms = 1000,
                 .work_ms = 5,
                 .events = 1,
                 .shortest_ms = 6000,
                 .longest_ms = 6500,
                 .gap_ms = 800,
                 .rest_ms = 5000},
    .concerns = concerns,
    .begin = begin,
    .heal = heal,
    .did_it_bite = did_it_bite,
};
