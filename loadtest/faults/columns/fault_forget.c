/*
 * The store that holds the lock, the counter or the queue forgets: every key of this shop is gone
 * between two commands, as after a failover to a replica that had not heard of them, or a crash
 * without its newest writes. Keys of other shops are not touched.
 */
#include "loadtest/faults/fault.h"

#include <inttypes.h>
#include <stdio.h>

static bool begin(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    (void)event;
    return fault_forget_keys(site, error);
}

static bool did_it_bite(const struct fault_site *site, char evidence[FAULT_TEXT_SIZE])
{
    int64_t keys = site->forgotten;
    snprintf(evidence, FAULT_TEXT_SIZE, "%zu times every key was gone: %" PRId64 " keys in all",
             site->count, keys);
    return keys > 0;
}

const struct fault fault_forget = {
    .name = "forget",
    .summary = "the store outside PostgreSQL that holds locks, counters or queues loses them",
    .asks = FAULT_ASKS_FORGETS,
    .controls = {"redis-token", "redis-stock"},
    .settings = {.lease_ms = 3000,
                 .work_timeout_ms = 2000,
                 .work_ms = 10,
                 .events = 8,
                 .gap_ms = 150,
                 .rest_ms = 500},
    .concerns = fault_needs_redis,
    .begin = begin,
    .did_it_bite = did_it_bite,
};
