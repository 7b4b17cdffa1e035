/*
 * Nothing is done: the column that the others are read against. A strategy that is wrong here is
 * wrong under any fault, and shows nothing about it; a control of another column has to be right
 * here, so that it is the fault that breaks it there.
 */
#include "loadtest/faults/fault.h"

#include <inttypes.h>
#include <stdio.h>

/* What nothing was sold in proves nothing here either. */
static bool did_it_bite(const struct fault_site *site, char evidence[FAULT_TEXT_SIZE])
{
    int64_t sold = 0;
    for (size_t i = 0; i < site->ledger.ops_count; i++) {
        const struct ledger_op *op = &site->ledger.ops[i];
        sold += op->kind == LEDGER_BUY && op->result == LEDGER_OK;
    }
    snprintf(evidence, FAULT_TEXT_SIZE, "nothing was done while %" PRId64 " orders were sold",
             sold);
    return sold > 0;
}

const struct fault fault_calm = {
    .name = "calm",
    .summary = "nothing is done: who is wrong here is wrong without a fault",
    .asks = FAULT_ASKS_MANY,
    .controls = {"none"},
    .settings = {.lease_ms = 1200,
                 .work_timeout_ms = 1000,
                 .work_ms = 5,
                 .events = 1,
                 .gap_ms = 1000,
                 .rest_ms = 1000},
    .did_it_bite = did_it_bite,
};
