/* Reads what our database holds of a ledger's products, from one snapshot; of a shop in
 * cells what all of their databases hold, from a snapshot each. */
#ifndef SECKILL_LOADTEST_JUDGE_EVIDENCE_ROWS_READ_H
#define SECKILL_LOADTEST_JUDGE_EVIDENCE_ROWS_READ_H

#include "loadtest/ledger/ledger.h"

struct rows_place {
    const char *const *databases; /* conninfos, "": libpq's PG* variables; the first is cell 1's */
    size_t count;                 /* 1: there are no cells */
    const char *schema;           /* as --schema takes it */
    /* Of redis_look: */
    const char *locks; /* the locks' Redis, "": not looked at; redis://… or unix:///path */
    const char *stock; /* redis-stock's, "": the same */
    const char *system_name;
    bool nobody_sells; /* from mirrors: they are not looked at */
};

/* `out` begins as (struct rows){0}, or as redis_look has left it. Free it in either case. */
bool rows_read(struct rows *out, const struct ledger *ledger, const struct rows_place *place,
               struct error *error);

/*
 * redis_look.c: what Redis holds of a ledger's products: redis-stock's mirrors, and locks that will
 * never end.
 *
 * Happy path: waits, for at most some seconds, until nothing of the products is reserved, then
 * looks. A product that is not loaded, or of another sale, has no mirror. Failure modes: a Redis
 * that is out of reach, or does not answer in time, is an error; nothing is concluded from it.
 *
 * Reads the rows, too (rows_read), and looks at both again, for at most some seconds, while a
 * mirror is not what its row says: what a crash has left in it stays until the reconciler comes by,
 * which waits for a moment of quiet. `out` begins as (struct rows){0}; free it in either case.
 */
bool redis_look_and_read(struct rows *out, const struct ledger *ledger,
                         const struct rows_place *place, struct error *error);

#endif
