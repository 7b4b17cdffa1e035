/*
 * Cells together: what the databases of a shop's cells must not show beside each other, however
 * good each one's own books are. A product is sold in one of them, an order in the one that its id
 * names, and a user's Idempotency-Key has one order in all of them. Only sales that run now count.
 */
#ifndef SECKILL_LOADTEST_JUDGE_CELLS_H
#define SECKILL_LOADTEST_JUDGE_CELLS_H

#include "base/error.h"

#include <stdint.h>
#include <stdio.h>

struct cells_plan {
    const char *const *databases; /* conninfos, in the order of their cells, from cell 1 on */
    size_t count;
    const char *schema;
    int64_t first, last; /* products */
};

/* Writes a line for each thing that is wrong, the first few of a kind, and counts all of them.
 * False with the error when a database cannot be asked. */
bool cells_audit(const struct cells_plan *plan, FILE *to, int64_t *wrong, struct error *error);

#endif
