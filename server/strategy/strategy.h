/*
 * A strategy is a row of data and one function: its purchase.
 *
 * `buy` makes one attempt at an order and sets its outcome; `sell` does so where the orders of a
 * batch are decided together. drive.c does everything that all strategies share, once: it leaves
 * out orders that have waited too long, acquires and releases the lock, retries, settles an unknown
 * COMMIT, and looks up a refused repeat of an Idempotency-Key. This room knows no strategy:
 * it is given their list at the start (services->strategies).
 */
#ifndef SECKILL_STRATEGY_STRATEGY_H
#define SECKILL_STRATEGY_STRATEGY_H

#include "backend/backend.h"
#include "order/order.h"

struct store;
struct parking;
struct flusher;
struct cost_counters;
struct metrics;
struct lock;
struct renewer;
struct external_state;
struct session;
struct strategy_list;

/* What the strategies are built over. Never app or http. */
struct services {
    const struct settings *settings; /* borrowed: app */
    void *backends[BACKEND_COUNT];   /* borrowed: app; NULL: not configured, or not built in */
    struct renewer *renewer;         /* borrowed: app; NULL when no Redis is configured */
    struct parking *parking;         /* borrowed: app */
    struct flusher *flusher;         /* borrowed: app; NULL: every commit has a flush of its own */
    struct metrics *metrics;         /* borrowed: app */
    struct cost_counters *costs;     /* borrowed: app; of each strategy, by its index */
    const struct strategy_list *strategies; /* borrowed: app */
    void **instances; /* owned: strategies_start; by a strategy's index, NULL: it has none */
};

static inline struct store *services_store(const struct services *services)
{
    return services->backends[BACKEND_POSTGRESQL];
}

enum strategy_family {
    FAMILY_NOTHING,
    FAMILY_DATABASE,
    FAMILY_REDIS_LOCK,
    FAMILY_OTHER_LOCK,
    FAMILY_QUEUE
};

/* The promise: what the harness holds the strategy to. */
enum strategy_guarantee {
    GUARANTEE_ONE = 1u << 0,    /* correct in one instance */
    GUARANTEE_MANY = 1u << 1,   /* correct in many */
    GUARANTEE_PAUSED = 1u << 2, /* still correct when a holder is paused past its lease */
    GUARANTEE_FORGETS =
        1u << 3 /* still correct when the store outside PostgreSQL loses its newest writes */
};

/* How a strategy's orders queue in one instance: the lane's rule. */
struct lane_rule {
    int in_flight_per_product; /* batches worked on at a time for one product; 0: no bound */
    bool keyed; /* one in flight per product is part of the strategy, no flag may change it */
    bool all_products; /* one mailbox for all of them, as if they were one */
    bool streamed;     /* so many workers, and sessions, for each of --stock-streams */
    int workers;       /* most threads (and PostgreSQL sessions) at once */
    int max_batch;     /* orders a worker takes together */
    int64_t hold_us;   /* how long a lock may be kept from batch to batch; 0: released after each */
};

struct batch {
    struct order *orders; /* all with the lane's strategy and, but for all_products, one product */
    int64_t product_id;   /* 0: orders of any */
    int count;
};

struct strategy {
    const char *name;
    const char *summary;    /* one line, for GET /strategies, --help and the docs */
    const char *summary_zh; /* in Chinese, for the page and the Chinese docs; NULL: there is none */
    enum strategy_family family;
    unsigned needs; /* of enum backend_need */
    unsigned guarantees;
    unsigned with_replicas; /* those that --stock-redis-replicas adds */
    bool usual;        /* one of those that lists begin with, and that `--strategies usual` runs */
    bool asynchronous; /* may answer 202 before PostgreSQL has decided */
    bool bodies;       /* takes ?body=plain|guarded */
    bool control;      /* kept for the tests alone: promises nothing, and is not offered */
    bool shared_flush; /* flush=shared is its orders' default (sale/flusher.h) */
    bool mixes; /* may share a product with the other strategies that decide on the row itself */
    struct lane_rule lane;
    const struct lock *lock; /* NULL: none */
    /* Sets the outcome and answers true when the order can be refused without a lane; NULL: never.
     * Any thread; must not block. */
    bool (*refuse_now)(void *instance, struct order *order);
    const struct external_state
        *external_state; /* what it keeps outside PostgreSQL (external_state.h); NULL: nothing */
    /* Decides one buy: sets its outcome. NULL where `sell` decides all of them. */
    void (*buy)(struct session *session, struct order *order);
    /* The same of a cancel or a restock; NULL: the usual one (sale/purchase_cancel.h,
     * sale/restock.h). True when units may have been added to the stock. */
    bool (*cancel)(struct session *session, struct order *order);
    bool (*restock)(struct session *session, struct order *order);
    /* Sets each order's outcome; NULL: one order after the other, by the members above
     * (sale/turns.h). A strategy that hears of it later may take orders out of the batch instead
     * and leave them in services->parking, from where they are completed (parking.h). */
    void (*sell)(struct session *session, struct batch *batch);
    int sessions; /* PostgreSQL sessions of its own consumers, at most */
    /* NULL but for strategies with a state or consumers of their own. `start` is called once before
     * the first order and returns the instance that refuse_now, sell (session->instance), the
     * external state and stop get. NULL: the strategy cannot run here at all, and the start fails.
     * `stop` is called after the last worker has ended. */
    void *(*start)(const struct services *services, struct error *error);
    void (*stop)(void *instance);
};

/* The strategies of this program (strategies/strategies.h), each by its index. Those that are
 * offered come first, the tests' controls (builds with failpoints) after them. */
struct strategy_list {
    const struct strategy *const *at;
    size_t total;
};

size_t strategy_list_offered(const struct strategy_list *list);
size_t strategy_list_index(const struct strategy_list *list, const struct strategy *strategy);
const char *strategy_family_name(enum strategy_family family);

/* NULL when the strategy can be used here, else why not ("Redis is not configured (--redis)"). */
const char *strategy_unavailable_reason(const struct strategy *strategy,
                                        const struct services *services);

/* Starts and stops the instances of those that can be used here. A stop without a start does no
 * harm. */
bool strategies_start(struct services *services, struct error *error);
void strategies_stop(struct services *services);
/* What `start` has returned; NULL: it has not, or there is none. */
void *strategy_instance(const struct services *services, const struct strategy *strategy);

#endif
