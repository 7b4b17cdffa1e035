/* Reads what our database holds of a ledger's products (rows.h), from one snapshot. */
#ifndef SECKILL_LOADTEST_JUDGE_EVIDENCE_ROWS_READ_H
#define SECKILL_LOADTEST_JUDGE_EVIDENCE_ROWS_READ_H

#include "loadtest/ledger/ledger.h"

/* `conninfo` "": libpq's PG* variables; `schema`: as --schema takes it. `out` begins as
 * (struct rows){0}, or as redis_look has left it. Free it in either case. */
bool rows_read(struct rows *out, const struct ledger *ledger, const char *conninfo,
               const char *schema, struct error *error);

#endif
