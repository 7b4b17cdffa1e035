/*
 * The steps that strategies share: reading the product's row, deciding, writing the rows of one
 * order.
 *
 * A strategy's own file says which statement reads and which one writes the stock; what stands here
 * is the same under every protection: windows, limits, Idempotency-Keys, the order's row, the
 * commit. A step that answers false has set the order's outcome and left the transaction.
 *
 * Lock order in the database: product, (product, user), order. Everything works on the session's
 * own thread and, unless a deadline is given, until its work_until_us.
 */
#ifndef SECKILL_SALE_PURCHASE_H
#define SECKILL_SALE_PURCHASE_H

#include "strategy/session.h"

#define NO_LIMIT INT64_C(-1)
#define NO_HOLD  INT64_C(-1)

struct product_row {
    int64_t stock;
    int64_t epoch;
    int64_t version;
    int64_t limit_per_user; /* NO_LIMIT when there is none */
    bool open;              /* by PostgreSQL's clock */
    bool split;             /* some of the stock stands in buckets */
    bool early;             /* what the product's rows say may be undone until the log is flushed */
    int64_t hold_s;         /* for orders that do not say; NO_HOLD: the server's */
    int64_t now_us;         /* PostgreSQL's clock when the row was read */
};
enum { PRODUCT_ROW_COLUMNS = 9 }; /* others may follow */

/* The order is going to be decided by this row, which was read as somebody has committed it. */
void purchase_saw(struct order *order, const struct product_row *row);
/* The record of the order, or of the first with its key, is the present result's first row. */
void purchase_saw_order(const struct pg *pg, struct order *order);
/* From now on statements wait for locks as long as this order and its batch may; for an order that
 * does not wait, the shortest time there is. */
void purchase_may_wait(struct session *session, const struct order *order);
/* The same for orders that one transaction decides; several orders wait at most `most_ms` at a
 * time, because a lock that one order needs delays all of them: MANY in the first attempt, FEWER in
 * the attempts that search for that order. Returns the order whose wait ends first. */
enum { PURCHASE_MANY_WAIT_MS = 200, PURCHASE_FEWER_WAIT_MS = 50 };
const struct order *purchase_many_may_wait(struct session *session, struct order **orders,
                                           int count, int64_t most_ms);
/* Nothing was done, because a lock was held by another transaction for the whole wait: RETRY while
 * the order may wait, else LOCK_TIMEOUT. */
void purchase_waited(struct order *order);
/* Runs one statement of an order until `until_us`: when that ends before the work's own time it is
 * a wait that has lasted long enough. False: the order is decided. */
bool purchase_run(struct session *session, struct order *order, enum sql statement,
                  const struct pg_value *values, int count, int64_t until_us);
/* The present sale as far as is known, for a statement that names it and commits; 0: nobody knows,
 * or this session's commits are early and nobody has been told of them in that sale. */
int64_t purchase_epoch(const struct session *session, int64_t product_id);
/* False: commits are early, and a PUT that came after the mark has begun a sale that has none. */
bool purchase_may_commit(const struct session *session, const struct product_row *row);
/* May one statement be the whole of the order, with nothing before or after it? */
bool purchase_is_simple(const struct session *session, const struct order *order);
/* And of orders of this product: nobody's share has to be counted, and nothing is to be paid. */
static inline bool purchase_row_is_simple(const struct product_row *row)
{
    return row->limit_per_user == NO_LIMIT && row->hold_s <= 0;
}

/* The one place where holds are decided: until when, by PostgreSQL's clock, an order that asked for
 * `asked_s` has to be paid; 0: it has not. The order's word comes before the product's, and that
 * before the server's. purchase_hold keeps it in the order, before its row is written. */
int64_t purchase_hold_until(const struct settings *settings, int64_t asked_s,
                            const struct product_row *row);
/* Whether there is one as far as the order and the server say; statements that do without the
 * product's row look at what it says themselves. */
bool purchase_asks_hold(const struct settings *settings, int64_t asked_s);
void purchase_hold(const struct session *session, struct order *order,
                   const struct product_row *row);
/* Runs that statement, which commits at once, in the sale of this epoch alone: conditional_buy or
 * one that takes `more` values behind its, PURCHASE_MORE at the most. False: it matched no row, and
 * nothing is decided. */
enum { PURCHASE_MORE = 2 };
bool purchase_at_once(struct session *session, struct order *order, enum sql statement,
                      int64_t epoch, const struct pg_value *more, int count);
/* The same in two steps, for a caller that sends the statement itself: the values of
 * conditional_buy, borrowed from the order; and its result. */
enum { PURCHASE_VALUES = 7 };
void purchase_at_once_values(const struct order *order, int64_t epoch,
                             struct pg_value values[PURCHASE_VALUES]);
bool purchase_at_once_ended(struct session *session, struct order *order, enum pg_status status,
                            int64_t affected);
/* Until when a statement that can only wait for a row may take: as long as the order may wait, and
 * a little more, so that PostgreSQL ends the wait (purchase_may_wait) and the session is kept. */
int64_t purchase_row_deadline(const struct session *session, const struct order *order);

/* purchase_run of product_read or a form of it that locks; an absent row is UNKNOWN_PRODUCT. */
bool purchase_read(struct session *session, struct order *order, enum sql statement,
                   int64_t until_us, struct product_row *row);
/* A row of the present result, as the statements of this family return it; or the first, by which
 * the order is decided. */
void purchase_row_at(const struct pg *pg, int i, struct product_row *row);
void purchase_row(const struct pg *pg, struct order *order, struct product_row *row);

/* A write of the product's row, whatever is in it, has found none: UNKNOWN_PRODUCT, or
 * purchase_missed. Always false. */
bool purchase_unmatched(struct session *session, struct order *order);

/* Whether the sale's window and the stock allow the buy. When the row has too little and the rest
 * stands in buckets, the buckets are folded back into the row in a transaction of its own, and the
 * order is RETRY. */
bool purchase_allowed(struct session *session, struct order *order, const struct product_row *row);

/* After the INSERT of an order's or restock's row that gives way to an earlier one with its key, as
 * `status` says: COMMIT. True: it is confirmed. */
bool purchase_end(struct session *session, struct order *order, enum pg_status status);

/* Registers a fence for this hold, unless it has one already: a statement of its own, committed
 * before anything is read, that waits for the row until `until_us`. False: the order is decided. */
bool purchase_register_fence(struct session *session, struct order *order, int64_t until_us);
/* A write of the stock matched no row: a PUT has started a new sale (the next attempt tells), or a
 * later holder has registered its fence (the lease is lost), or it was withheld: `mark` is
 * purchase_missed's. Always false. */
bool purchase_overtaken(struct session *session, struct order *order, int64_t mark);

/* A write of this table matched no row, and what was read says that it must: somebody was faster,
 * so RETRY. `mark` is the version of the product's row that was read, or what else there was to
 * match; where an earlier attempt has missed the same, nobody has changed it in between, so the
 * write was withheld, and the answer is PostgreSQL's failure. Always false. */
enum { MISSED_PRODUCT = -1, MISSED_ORDER = -2, MISSED_KEY = -3 };
bool purchase_missed(struct session *session, struct order *order, int64_t mark, const char *table);
/* The same where nobody can have been faster. */
bool purchase_withheld(struct session *session, struct order *order, const char *table);

/* Turns what PostgreSQL said into the order's outcome and leaves the transaction. `committing`: a
 * commit had been sent, so a lost reply leaves it unsettled. */
void purchase_failed(struct session *session, struct order *order, enum pg_status status,
                     bool committing);
/* Call it before a reply tells what a statement has read. Waits, until `until_us`, until that is as
 * durable as a commit of this session, if a commit waits for a standby (store_waits). False: its
 * durability is unknown, and the order is OUTCOME_UNKNOWN. */
bool purchase_flush_read(struct session *session, struct order *order, int64_t until_us);
/* Sets the outcome and leaves the transaction. Always false. */
bool purchase_refuse(struct session *session, struct order *order, enum order_outcome outcome);

/* Marks it confirmed (or restocked) as its own record says; with a hold it is pending. */
void purchase_confirm(struct order *order);
/* The same of a row that is read later: the order may have been paid, cancelled or ended since. */
void purchase_found(struct order *order, enum order_status status);

#endif
