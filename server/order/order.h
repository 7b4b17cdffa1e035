/*
 * The order: what a client asked for, how long it may take, and what became of it.
 *
 * The edge makes one, hands it to dispatch, and gets it back decided. Between those two moments
 * exactly one thread owns it at a time: the edge, then a lane's mailbox (under the lane's mutex),
 * then a worker, then the completion list. It is embedded in the edge's request and allocates
 * nothing.
 */
#ifndef SECKILL_ORDER_ORDER_H
#define SECKILL_ORDER_ORDER_H

#include "base/random/uuid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strategy;

/*
 * Every way an order can end: name (metrics label), HTTP status, code in the problem document,
 * meaning. The codes are docs/openapi.yaml's. What ends as CONFIRMED is committed, and may be
 * pending, to be paid: its record's status says so. PENDING, RETRY, UNSETTLED and
 * KEY_TAKEN never leave the strategy's drive.
 */
#define ORDER_OUTCOMES(X)                                                                          \
    X(PENDING, "pending", 500, "internal_error", "Nobody has decided this order.")                 \
    X(RETRY, "retry", 500, "internal_error", "The attempt lost a race and may be made again.")     \
    X(UNSETTLED, "unsettled", 500, "internal_error", "A COMMIT was sent and its reply was lost.")  \
    X(KEY_TAKEN, "key_taken", 500, "internal_error", "The Idempotency-Key has an order already.")  \
    X(CONFIRMED, "confirmed", 201, "", "The order is committed.")                                  \
    X(ACCEPTED, "accepted", 202, "", "Accepted durably; not decided in PostgreSQL yet.")           \
    X(REPLAYED, "replayed", 200, "", "The key's first order, as it is now.")                       \
    X(CANCELLED, "cancelled", 200, "", "The order is cancelled.")                                  \
    X(RESTOCKED, "restocked", 200, "", "The stock was added.")                                     \
    X(SOLD_OUT, "sold_out", 409, "sold_out", "Not enough stock is left for this quantity.")        \
    X(LIMIT_REACHED, "limit_reached", 409, "limit_reached",                                        \
      "The user's limit for this product does not allow this quantity.")                           \
    X(SALE_NOT_OPEN, "sale_not_open", 409, "sale_not_open",                                        \
      "The sale has not opened yet or is over.")                                                   \
    X(IDEMPOTENCY_MISMATCH, "idempotency_mismatch", 409, "idempotency_mismatch",                   \
      "The Idempotency-Key was used for another product or quantity.")                             \
    X(NOT_CANCELLABLE, "not_cancellable", 409, "not_cancellable",                                  \
      "A failed or expired order has no stock.")                                                   \
    X(NOT_PAYABLE, "not_payable", 409, "not_payable",                                              \
      "A failed or cancelled order cannot be paid.")                                               \
    X(EXPIRED, "expired", 409, "expired", "The order was not paid in time.")                       \
    X(UNKNOWN_PRODUCT, "unknown_product", 404, "unknown_product", "There is no such product.")     \
    X(NOT_FOUND, "not_found", 404, "not_found", "There is no such order.")                         \
    X(QUEUE_FULL, "queue_full", 503, "queue_full", "Too many requests are waiting.")               \
    X(QUEUE_TIMEOUT, "queue_timeout", 503, "wait_timeout",                                         \
      "The request waited in the queue for as long as it may.")                                    \
    X(LOCK_TIMEOUT, "lock_timeout", 503, "wait_timeout",                                           \
      "The request waited for the lock for as long as it may.")                                    \
    X(CAS_EXHAUSTED, "cas_exhausted", 503, "cas_exhausted",                                        \
      "Other buyers changed the stock first each time.")                                           \
    X(LEASE_LOST, "lease_lost", 503, "lease_lost", "The lock's lease ended before the work did.")  \
    X(STRATEGY_UNAVAILABLE, "strategy_unavailable", 503, "strategy_unavailable",                   \
      "The strategy is not built or not configured here.")                                         \
    X(BACKEND_UNAVAILABLE, "backend_unavailable", 503, "backend_unavailable",                      \
      "A backend that the strategy needs is out of reach.")                                        \
    X(SHUTTING_DOWN, "shutting_down", 503, "shutting_down", "The server is stopping.")             \
    X(OUTCOME_UNKNOWN, "outcome_unknown", 504, "outcome_unknown",                                  \
      "The connection was lost while committing and the outcome could not be settled in time.")    \
    X(INTERNAL_ERROR, "internal_error", 500, "internal_error", "The server failed; it is logged.")

enum order_outcome {
#define X(id, name, status, code, meaning) ORDER_##id,
    ORDER_OUTCOMES(X)
#undef X
        ORDER_OUTCOME_COUNT
};

struct order_outcome_row {
    const char *name;
    int http_status;
    const char *code; /* "" for success */
    const char *meaning;
};

const struct order_outcome_row *order_outcome_row(enum order_outcome outcome);
/* The refusal whose name is the reason of a failed row; PENDING: the reason is another one. */
enum order_outcome order_refusal_of(const char *reason);

/* What an Idempotency-Key is made of: visible ASCII. */
static inline bool order_key_may_hold(char c)
{
    return c > ' ' && c < 0x7f;
}

/* An expire is the cancel of a pending order whose hold is over; no client sends it. */
enum order_kind { ORDER_BUY, ORDER_CANCEL, ORDER_RESTOCK, ORDER_EXPIRE, ORDER_KIND_COUNT };
const char *order_kind_name(enum order_kind kind);

enum order_body { BODY_PLAIN, BODY_GUARDED };
/* Whether an order's commit waits for the log itself, or lets go of its locks before
 * (sale/flusher.h). */
enum order_flush { FLUSH_OWN, FLUSH_SHARED, FLUSH_SHARED_UNASKED };

enum order_status {
    STATUS_QUEUED,
    STATUS_CONFIRMED,
    STATUS_CANCELLED,
    STATUS_FAILED,
    STATUS_PENDING, /* to be paid before its hold ends */
    STATUS_EXPIRED
};
const char *order_status_name(enum order_status status);
/* False: no status has that name. */
bool order_status_find(const char *name, enum order_status *out);
/* What an order becomes that is given back by a cancel or an expire, and how that ends. */
enum order_status order_returned_status(enum order_kind kind);
enum order_outcome order_returned_outcome(enum order_kind kind);

enum {
    ORDER_KEY_MAX = 255,     /* an Idempotency-Key's longest */
    ORDER_STRATEGY_MAX = 31, /* a strategy name's longest */
    ORDER_REASON_MAX = 63,   /* a word, or "duplicate" and the first order's id */
    ORDER_QUANTITY_MAX = 1000000,
    ORDER_HOLD_MAX_S = 86400,
    ORDER_HOLD_NOT_SAID = -1 /* the product's */
};
#define ORDER_ID_MAX    INT64_MAX                 /* snowflake ids have 63 bits */
#define ORDER_UNITS_MAX INT64_C(9007199254740991) /* 2^53-1: what Redis counts exactly */

/* An order as PostgreSQL holds it: what GET /orders/ID shows. */
struct order_record {
    struct uuid id;
    int64_t product_id;
    int64_t user_id;
    int64_t quantity;
    char strategy[ORDER_STRATEGY_MAX + 1];
    enum order_status status;
    char reason[ORDER_REASON_MAX + 1]; /* "" unless failed */
    int64_t created_us;                /* wall clock */
    int64_t epoch;                     /* of its sale; 0: not read */
    int64_t hold_until_us;             /* wall clock of PostgreSQL's; 0: it has had no hold */
};

/* A state of a product's row: each write of its stock or its window makes another. */
struct product_version {
    int64_t epoch;
    int64_t version; /* 0: nobody knows, or it does not say all (buckets) */
};

struct order {
    struct order *next; /* the list it stands in now */

    /* The request; the edge sets it, nobody changes it. */
    enum order_kind kind;
    enum order_body body;
    enum order_flush flush;
    const struct strategy *strategy; /* borrowed: registry */
    struct uuid id;                  /* new for a buy and a restock; the order's own for a cancel */
    int64_t product_id;
    int64_t user_id; /* 0 for a restock */
    int64_t quantity;
    char key[ORDER_KEY_MAX + 1]; /* "" when there is none */
    int64_t created_us;          /* wall clock */
    bool stall;                  /* its session stands still past its lease (drive.c) */
    int64_t hold_s;              /* of a buy: how long it may wait to be paid; 0: it need not be */

    /* The two times, absolute and monotonic, made once at the edge. */
    bool no_wait; /* wait_ms=0: a free slot and a free lock now, or nothing */
    int64_t arrived_us;
    int64_t wait_until_us;   /* lane and lock together */
    int64_t settle_until_us; /* the end of everything: wait, work, settling */

    /* What became of it; drive sets it. */
    enum order_outcome outcome;
    enum order_outcome if_not_done; /* with UNSETTLED: the answer if the commit did not happen; with
                                       RETRY: if there is no time to */
    unsigned attempts;
    bool waited;      /* an attempt has ended because somebody held a lock for too long, or
                         withheld a row */
    bool waits_alone; /* and one that other orders of the product do not need */
    int64_t missed;   /* what the last attempt's write should have matched (purchase_missed) */
    bool early;       /* it was decided by what a crash may undo: product_row.early */
    struct product_version seen; /* of the row that was read last, as it was committed */
    unsigned ticket;             /* of the flusher's session that proves the flush; 0: none does */
    int64_t hold_until_us; /* purchase_hold has decided it; 0: the order is confirmed at once */
    struct order_record record; /* for 2xx, except a restock's: the order as it is in PostgreSQL */
    int64_t queue_us;
    int64_t lock_us;
    int64_t work_us;
};

/* How many stand in the list. */
int order_count(const struct order *list);

/* Fills its record as an order of `strategy` in this state; a CONFIRMED one with a hold is
 * PENDING. */
void order_fill_record(struct order *order, const char *strategy, enum order_status status);

#endif
