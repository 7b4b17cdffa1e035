/*
 * A sale that is over, judged again by the ledger that it has left. Nobody is asked: what buyers
 * were told and what the books said then both stand in it, and the shop may have sold since.
 */
#ifndef SECKILL_LOADTEST_SHOP_SALE_SALE_AGAIN_H
#define SECKILL_LOADTEST_SHOP_SALE_SALE_AGAIN_H

#include "loadtest/shop/sale/sale.h"

/* By the claims of plan->target, which must be the target that it was made with; of the plan's load
 * what the ledger says of it is filled in. Zeroes `out` first; the caller ends it with sale_fini,
 * of a false one too. False: the ledger is not whole, or of another sale. */
bool sale_judge_again(const char *path, struct sale_plan *plan, struct sale *out,
                      struct error *error);

#endif
