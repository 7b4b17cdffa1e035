/* What one running redis-stock has: made by start, ended by stop, and the session's instance in
 * between. */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_INSTANCE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_INSTANCE_H

#include "strategies/redis_stock/stock_flag.h"
#include "strategies/redis_stock/stock_lease.h"
#include "strategies/redis_stock/stock_lent.h"
#include "strategies/redis_stock/stock_mend.h"
#include "strategies/redis_stock/writer/stock_handover.h"

struct stock_loader;
struct writer;

struct redis_stock {
    const struct services *services; /* borrowed: app */
    const struct strategy *strategy; /* its row */
    struct stock_flag flag;
    struct stock_mend mend;
    struct stock_handover handover;
    struct stock_lent lent;
    struct stock_lease lease;    /* the writer's */
    struct stock_loader *loader; /* owned, as what follows */
    struct writer *writer;
};

#endif
