/* A claim: what the stream says was reserved for an order, and what became of it in PostgreSQL. */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_CLAIM_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_CLAIM_H

#include "strategies/redis_stock/mirror/stock_waiting.h"

enum { WRITE_MAX = 1000 };

enum claim_fate {
    CLAIM_OPEN,      /* nothing could be done about it now */
    CLAIM_HELD,      /* nor about this one: somebody else holds its product's row */
    CLAIM_LOCKED,    /* or another lock that it needs; or its sale is in another database */
    CLAIM_CONFIRMED, /* committed */
    CLAIM_KNOWN,     /* its row was there already */
    CLAIM_ENDED,     /* of a sale that a PUT has ended: it vanishes */
    CLAIM_REFUSED,   /* a failed row is committed; the mirror was wrong */
    CLAIM_POISON,    /* a failed row is committed; its units go back to the mirror */
    CLAIM_LOST,      /* a failed row is committed; Redis has lost it, and its units with it */
    CLAIM_FATES
};

struct claim {
    struct waiting_order order;
    enum claim_fate fate;
    int64_t hold_until_us; /* with CONFIRMED: 0: it is; else it is pending until then */
    char reason[ORDER_REASON_MAX + 1];
    char generation[STOCK_GENERATION_MAX]; /* with POISON: the mirror's, seen before the commit */
};

static inline bool claim_is_decided(const struct claim *claim)
{
    return claim->fate != CLAIM_OPEN && claim->fate != CLAIM_HELD && claim->fate != CLAIM_LOCKED;
}

#endif
