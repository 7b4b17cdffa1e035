/*
 * Whether one order of a product's operations explains every answer: linearizability of its counter
 * (Herlihy, Wing 1990), decided exactly by the search of Wing and Gong (1993) with Lowe's memory of
 * what was visited (2017), a product at a time.
 *
 * The counter begins with the stock. A sale needs its units and takes them, "sold out" needs that
 * there were fewer; a restock, a cancel and the end of a hold add, and a payment changes nothing.
 * Each has its effect at one moment between its beginning and its end; one without an answer at any
 * time since, or, where the database cannot say, never. Of operations that differ in their times
 * alone the one that ends first goes first, which loses no order and most of the search.
 *
 * It may give up: UNKNOWN is no yes. It does not try products with orders that were accepted first
 * (202), for a reservation that was given back is no operation of the ledger.
 */
#ifndef SECKILL_LOADTEST_JUDGE_EXACT_EXACT_H
#define SECKILL_LOADTEST_JUDGE_EXACT_EXACT_H

#include "loadtest/judge/evidence/view.h"

enum { EXACT_OPS_MAX = 512 };

struct exact_op {
    int64_t start_us, end_us; /* LEDGER_NEVER: its effect may come at any time since */
    int64_t least, below;     /* it needs so many units, and fewer than that many; below 0: any */
    int64_t change;
    bool optional;              /* it may have had no effect at all */
    const struct ledger_op *op; /* borrowed; the search does not look at it */
};

/* At most EXACT_OPS_MAX operations, in any order: they are sorted. After `budget` steps: UNKNOWN.
 */
enum exact_answer exact_search(struct exact_op *ops, size_t count, int64_t stock, int64_t budget);

/* Every product of the ledger. Adds FINDING_NOT_LINEARIZABLE with the shortest beginning that has
 * no order, and counts in the view how many products there are for each answer. */
void exact_check(struct view *view);

#endif
