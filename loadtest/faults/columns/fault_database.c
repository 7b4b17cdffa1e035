/*
 * PostgreSQL is killed with all its processes (SIGKILL), and started again: it recovers from its
 * log. What somebody was told before that has to be there afterwards. For a private PostgreSQL
 * alone, by the script that started it (--stack).
 *
 * The control is a strategy that is right, on sessions whose commits do not wait for the log to
 * leave PostgreSQL's memory: its newest orders are acknowledged and gone (PostgreSQL documentation,
 * "Asynchronous Commit").
 */
#include "loadtest/faults/fault.h"

#include <inttypes.h>
#include <stdio.h>

static bool begin(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    (void)event;
    return fault_tell_stack(site, "signal", "postgres", "KILL", error);
}

static bool heal(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    (void)event;
    site->restarted++;
    return fault_tell_stack(site, "start", "postgres", NULL, error);
}

/* Orders that nobody could decide, or whose fate nobody knew, while it was away. */
static bool did_it_bite(const struct fault_site *site, char evidence[FAULT_TEXT_SIZE])
{
    int64_t failed = 0, sold_before = 0;
    for (size_t i = 0; i < site->ledger.ops_count && site->count > 0; i++) {
        const struct ledger_op *op = &site->ledger.ops[i];
        bool meets = op->end_us > site->intervals[0].begin_us && op->end_us != LEDGER_NEVER;
        failed += meets && (op->status == 503 || op->status == 504);
        sold_before += op->kind == LEDGER_BUY && op->result == LEDGER_OK && !meets;
    }
    snprintf(evidence, FAULT_TEXT_SIZE,
             "PostgreSQL was killed %zu times and started again %" PRId64 " times; %" PRId64
             " orders were answered 503 or 504 for it, %" PRId64 " were sold before",
             site->count, site->restarted, failed, sold_before);
    return site->count > 0 && failed > 0 && sold_before > 0;
}

static const struct fault_control unflushed = {
    .name = "control-unflushed", .strategy = "conditional", .session = "-c synchronous_commit=off"};

const struct fault fault_database = {
    .name = "database",
    .summary = "PostgreSQL is killed and started again (needs --stack)",
    .asks = FAULT_ASKS_MANY,
    .own = &unflushed,
    .needs_stack = true,
    /* A COMMIT among those that wait for a PostgreSQL which has just come back takes long: the
     * lease is not to end meanwhile, which is another column's. */
    .settings = {.lease_ms = 3000,
                 .work_timeout_ms = 1000,
                 .work_ms = 5,
                 .events = 2,
                 .shortest_ms = 300,
                 .longest_ms = 500,
                 .gap_ms = 1500,
                 .rest_ms = 4000},
    .begin = begin,
    .heal = heal,
    .did_it_bite = did_it_bite,
};
