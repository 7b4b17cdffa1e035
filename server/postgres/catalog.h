/*
 * The catalog: what the pages around an order read and write in PostgreSQL, apart from any
 * strategy: products, orders as they stand, the audit. Each call is one transaction on the caller's
 * session, bounded by `until_us` (monotonic).
 */
#ifndef SECKILL_POSTGRES_CATALOG_H
#define SECKILL_POSTGRES_CATALOG_H

#include "base/error.h"
#include "order/order.h"

struct pg;

enum { PRODUCT_NAME_MAX = 200, CATALOG_PAGE_MAX = 1000, CATALOG_RUN_MAX = 1000000 };

enum catalog_result {
    CATALOG_OK,
    CATALOG_NOT_FOUND,
    CATALOG_FAILED, /* nothing was done, nor is anything that was given changed; the error says why
                     */
    CATALOG_HELD,   /* nothing was done: somebody holds a row */
    CATALOG_QUEUED, /* nothing was done: the order is not decided yet */
    CATALOG_UNCOUNTED,
    CATALOG_REFUSED, /* nothing was done: what is there does not allow it */
    CATALOG_HIDDEN,  /* it may be where this server cannot look; the error says what is missing */
    CATALOG_UNKNOWN  /* a write's COMMIT was sent and its reply was lost */
};

struct product {
    int64_t id;
    bool has_name;
    char name[PRODUCT_NAME_MAX * 4 + 1]; /* PRODUCT_NAME_MAX characters of UTF-8 */
    int64_t initial_stock;
    int64_t stock;
    int64_t reserved; /* what 202s hold and PostgreSQL has not decided; -1 while unknown */
    bool elsewhere;   /* some of that may be outside PostgreSQL */
    bool has_limit;
    int64_t limit_per_user;
    bool has_opens_at;
    int64_t opens_at_us; /* wall clock */
    bool has_closes_at;
    int64_t closes_at_us;
    bool has_hold;
    int64_t hold_s; /* of orders that do not say */
    int64_t epoch;
    int64_t version;
};

/* The audit of one product (docs/openapi.yaml), computed from rows in one snapshot. */
struct audit {
    int64_t product_id;
    int64_t epoch;
    int64_t initial_stock; /* S */
    int64_t restocked;     /* R */
    int64_t stock;         /* K */
    int64_t sold;          /* B */
    int64_t oversold;
    int64_t lost_updates;
    int64_t duplicate_orders;
    int64_t limit_violations;
    int64_t queued;
    int64_t held; /* H: units of pending orders */
    int64_t lost; /* units of orders that were accepted, and lost before they were decided */
    char strategies[1024]; /* names, separated by commas, sorted */
    bool consistent;
};

enum catalog_result catalog_product(struct pg *pg, int64_t id, int64_t until_us,
                                    struct product *out, struct error *error);
/* Products with an id above `after`, in id order; *n is how many (at most `limit`). */
enum catalog_result catalog_products(struct pg *pg, int64_t after, int limit, int64_t until_us,
                                     struct product *out, int *n, struct error *error);
/* Starts the product's sale afresh under a new epoch. Reads id, stock, name, limit and times from
 * `product` and fills the rest. *created says whether it is new. Where `product->epoch` is not 0 it
 * has to follow that sale: CATALOG_REFUSED when there is another, or none.
 * Waits for the product's row until `wait_until_us`. */
enum catalog_result catalog_product_put(struct pg *pg, struct product *product, bool *created,
                                        int64_t wait_until_us, int64_t until_us,
                                        struct error *error);
/* Sets the members that are given, of name, limit, window and hold, of the sale that is there, and
 * fills `product`. CATALOG_REFUSED: it would close before it opens; CATALOG_UNCOUNTED: it would get
 * a limit where it had none, and what users have bought was not counted. */
enum product_member {
    PRODUCT_NAME = 1u << 0,
    PRODUCT_LIMIT = 1u << 1,
    PRODUCT_OPENS = 1u << 2,
    PRODUCT_CLOSES = 1u << 3,
    PRODUCT_HOLD = 1u << 4
};
enum catalog_result catalog_product_patch(struct pg *pg, struct product *product, unsigned given,
                                          int64_t wait_until_us, int64_t until_us,
                                          struct error *error);
/* The same as a PUT for `count` products from `first_id`, in one transaction; no name, limit or
 * times. */
enum catalog_result catalog_products_put(struct pg *pg, int64_t first_id, int64_t count,
                                         int64_t stock, int64_t wait_until_us, int64_t until_us,
                                         struct error *error);
enum catalog_result catalog_audit(struct pg *pg, int64_t product_id, int64_t until_us,
                                  struct audit *out, struct error *error);

enum catalog_result catalog_order(struct pg *pg, const struct uuid *id, int64_t until_us,
                                  struct order_record *out, struct error *error);
/* After a payment whose COMMIT was lost: CATALOG_OK once nothing of it can come any more. It waits
 * `wait_ms` for that. */
enum catalog_result catalog_order_settle(struct pg *pg, const struct uuid *id, int64_t wait_ms,
                                         int64_t until_us, struct error *error);
/* A payment: of a pending order whose hold is not over, by PostgreSQL's clock. `out` is the order
 * as it is then, by this payment or by an earlier one: paid where it is confirmed, too late where
 * it is pending. It waits `wait_ms` for somebody who ends the order: CATALOG_HELD. Where the order
 * is queued nothing is done: CATALOG_QUEUED. CATALOG_UNKNOWN: asked again, once it is settled, it
 * tells. */
enum catalog_result catalog_order_pay(struct pg *pg, const struct uuid *id, int64_t wait_ms,
                                      int64_t until_us, struct order_record *out,
                                      struct error *error);
/* Which orders a page shows. */
struct order_page {
    int64_t product_id; /* 0: any */
    int64_t user_id;    /* 0: any */
    bool has_status;
    enum order_status status;
    bool has_after;
    struct uuid after; /* those that were written behind this one; behind none that is there: all */
    int limit;
};

/* The page's orders, in id order; *n is how many, at most page->limit. *next is the one to go on
 * behind, where the page is full: no order can commit any more that `next` has passed. Without
 * *has_next the page is the last one, or stands behind a transaction that is still running. */
enum catalog_result catalog_orders(struct pg *pg, const struct order_page *page, int64_t until_us,
                                   struct order_record *out, int *n, struct uuid *next,
                                   bool *has_next, struct error *error);

/* How far a follower of the feed has read. All zero: nothing yet. */
struct feed_position {
    int64_t origin;      /* of the database's transaction numbers */
    int64_t transaction; /* the last change's; with its order, and what that became */
    struct uuid id;
    int status;
};

/* What became of orders behind the position, each change once, as far as nothing can commit any
 * more that belongs in between; *position goes on behind the last. *n: at most `limit`.
 * CATALOG_REFUSED: the position is another database's, or one's before a failover. */
enum catalog_result catalog_feed(struct pg *pg, struct feed_position *position, int limit,
                                 int64_t until_us, struct order_record *out, int *n,
                                 struct error *error);

/* A row of the statements that return whole orders (order_read and its family). */
enum { ORDER_RECORD_COLUMNS = 11 }; /* others may follow */

/* True: a crash may undo what it says (product_row.early). */
bool order_record_read(const struct pg *pg, int row, struct order_record *out);

#endif
