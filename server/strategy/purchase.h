/*
 * The steps that strategies share: reading the product's row, deciding, writing the rows of one
 * order.
 *
 * A strategy's own file says which statement reads and which one writes the stock; what stands here
 * is the same under every protection: windows, limits, Idempotency-Keys, the order's row, the
 * commit. A step that answers false has set the order's outcome and left the transaction.
 *
 * Lock order in the database: product, (product, user), order.
 */
#ifndef SECKILL_STRATEGY_PURCHASE_H
#define SECKILL_STRATEGY_PURCHASE_H

#include "strategy/session.h"

#define NO_LIMIT INT64_C(-1)

struct product_row {
    int64_t stock;
    int64_t epoch;
    int64_t version;
    int64_t limit_per_user; /* NO_LIMIT when there is none */
    bool open;              /* by PostgreSQL's clock */
};

/* Runs `statement` (product_read, or a form of it that locks) until `until_us`; an expired wait is
 * LOCK_TIMEOUT, an absent row UNKNOWN_PRODUCT. */
bool purchase_read(struct session *session, struct order *order, enum sql statement,
                   int64_t until_us, struct product_row *row);
/* The present result's first row, as the statements of this family return it. */
void purchase_row(const struct pg *pg, struct product_row *row);

/* Does the sale's window and the stock allow it? A restock always is. */
bool purchase_allowed(struct session *session, struct order *order, const struct product_row *row);
/* What plain bodies write. */
int64_t purchase_stock_after(const struct order *order, const struct product_row *row);

/* After the stock was written under `row->epoch`: the user's limit, the order's (or restock's) row,
 * COMMIT. */
void purchase_finish(struct session *session, struct order *order, const struct product_row *row);

/* The stock's new figure and all of purchase_finish, for a row that this transaction has locked:
 * nothing can have changed it since it was read, so the last writes travel together. */
void purchase_write_locked(struct session *session, struct order *order,
                           const struct product_row *row);

/* The one cancel: status by compare-and-set and stock + quantity, relative, in one transaction.
 * `fence` 0: none. */
void purchase_cancel(struct session *session, struct order *order, int64_t fence);

/* Turns what PostgreSQL said into the order's outcome and leaves the transaction. `committing`: a
 * commit had been sent, so a lost reply leaves it unsettled. */
void purchase_failed(struct session *session, struct order *order, enum pg_status status,
                     bool committing);
/* Sets the outcome and leaves the transaction. Always false. */
bool purchase_refuse(struct session *session, struct order *order, enum order_outcome outcome);

/* Marks it confirmed (or restocked) as its own record says. */
void purchase_confirm(struct order *order);

/* Runs `sell_one` on each order of the batch that is still pending. */
void purchase_each(struct session *session, struct batch *batch,
                   void (*sell_one)(struct session *, struct order *));

/* Bodies that several strategies run. */
void body_plain(struct session *session, struct order *order);
void body_guarded(struct session *session, struct order *order);

/* A `sell` for strategies whose lock stands around it: the body that the request chose. */
void body_sell_chosen(struct session *session, struct batch *batch);

#endif
