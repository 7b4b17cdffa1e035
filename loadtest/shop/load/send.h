/*
 * The load on a shop: users buy, each with a connection, as a behaviour of the engine over curl.
 * Closed: so many purchases, the next as soon as a connection is free. Open: when they
 * are due, whether the shop keeps up or not; response times are from then on.
 *
 * A share is sent a second time with the same key: every other one at once, as a double click, the
 * rest when the first is answered, as a client that lost the answer.
 */
#ifndef SECKILL_LOADTEST_SHOP_LOAD_SEND_H
#define SECKILL_LOADTEST_SHOP_LOAD_SEND_H

#include "loadtest/ledger/ledger_write.h"
#include "loadtest/load/arrivals.h"
#include "loadtest/shop/load/users.h"

/* How a sale is made. */
struct sale_plan {
    const struct target *target; /* borrowed */
    const char *folder;          /* borrowed; it is there */
    int64_t timeout_ms;          /* of a request */
    const char *ca_file;         /* borrowed; "": the system's CAs */
    int64_t connections;
    int64_t buyers;     /* closed loop; 0: three times the stock, at least 300 */
    int64_t rate_per_s; /* above 0: open loop, for duration_us */
    int64_t duration_us;
    enum arrivals_kind arrivals;
    int64_t max_lag_ms; /* open: later is too late, by the load itself */
    int64_t seed;
    void (*tick)(void *context, size_t answered); /* some five times a second; may be NULL */
    void *context;
};

/* Everything that was asked stands in the ledger, what the load came to in its `load`, and both in
 * the writer's file. False: it could not be done, or was interrupted; what was sent until then is
 * recorded. */
bool send_load(const struct sale_plan *plan, const struct shop_users *users, struct ledger *ledger,
               struct json_lines *writer, struct error *error);

#endif
