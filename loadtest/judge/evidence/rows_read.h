/* Reads what our database holds of a ledger's products (rows.h), from one snapshot; of a shop in
 * cells what all of their databases hold, from a snapshot each. */
#ifndef SECKILL_LOADTEST_JUDGE_EVIDENCE_ROWS_READ_H
#define SECKILL_LOADTEST_JUDGE_EVIDENCE_ROWS_READ_H

#include "loadtest/ledger/ledger.h"

struct rows_place {
    const char *const *databases; /* conninfos, "": libpq's PG* variables; the first is cell 1's */
    size_t count;                 /* 1: there are no cells */
    const char *schema;           /* as --schema takes it */
};

/* `out` begins as (struct rows){0}, or as redis_look has left it. Free it in either case. */
bool rows_read(struct rows *out, const struct ledger *ledger, const struct rows_place *place,
               struct error *error);

#endif
