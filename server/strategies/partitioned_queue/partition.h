/*
 * Shared by the files of partitioned-queue: names, messages, and the deciding.
 *
 *   partitioned_queue.c    the strategy: its row, start and stop
 *   partition_intake.c     the rows of accepted orders
 *   partition_send.c       parks them and publishes
 *   partition_message.c    what a message says, and the publishing
 *   partition_consumer.c   the threads that take messages, have them decided, acknowledge, reply
 *   partition_put_off.c    entries whose product's row is held by another transaction
 *   partition_decide.c     many buys, one transaction
 *   partition_returns.c    cancels, expiries and restocks
 *   partition_resender.c   replies to waiting orders; what was lost is sent again
 */
#ifndef SECKILL_STRATEGIES_PARTITIONED_QUEUE_PARTITION_H
#define SECKILL_STRATEGIES_PARTITIONED_QUEUE_PARTITION_H

#include "order/order.h"
#include "rabbitmq/rabbit.h"
#include "strategy/session.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
    PARTITION_BATCH = 500,         /* orders in a message, and in a transaction */
    PARTITION_CONSUMERS = 4,       /* threads; more sets than that share them */
    PARTITION_TIMEOUT_US = 5000000 /* for the broker, where no order's own deadline stands */
};

struct consumer;
struct resender;

/* What one running partitioned-queue has: made by start, ended by stop, and its sessions' instance
 * in between. */
struct partitioned_queue {
    const struct services *services;                 /* borrowed: app */
    const struct strategy *strategy;                 /* its row */
    char replies[RABBIT_NAME_MAX + 1];               /* this instance's queue for replies */
    struct consumer *consumers[PARTITION_CONSUMERS]; /* owned */
    atomic_bool stopping;                            /* the consumers */
    struct resender *resender;                       /* owned */
};

static inline const char *partition_replies(const struct session *session)
{
    const struct partitioned_queue *queue = session->instance;

    return queue->replies;
}

static inline const struct strategy *partition_strategy(const struct session *session)
{
    const struct partitioned_queue *queue = session->instance;

    return queue->strategy;
}

/* The session's connection with the broker. */
static inline struct rabbit *partition_rabbit(const struct session *session)
{
    return session->with[BACKEND_RABBITMQ];
}

/* One line of a request message, and what became of it. */
struct partition_entry {
    enum order_kind kind;
    struct uuid id;
    int64_t product_id;
    int64_t epoch; /* these four of a restock alone; other orders have a row */
    int64_t quantity;
    char key[ORDER_KEY_MAX + 1];
    int64_t created_us;    /* in a reply: the row's, for a cancelled order */
    int64_t hold_until_us; /* of a buy that is confirmed; 0: it is, else it is pending until then */
    int message;           /* which of the batch's messages it came in */
    enum order_outcome outcome;
    bool missing; /* its row, or its sale, is not in this database; perhaps in another */
};

/* The queue of a product's set: "seckill.orders.31337.4.2" is number 2 of 4, of the database whose
 * epochs begin at 31337 times PG_EPOCHS; where that is 0 it is left out. After pg_connect. */
void partition_queue(const struct session *session, int64_t product_id,
                     char out[RABBIT_NAME_MAX + 1]);

/* Writes the batch's buys as queued rows and learns the sale's epoch. Orders that are to be sent on
 * stay PENDING, or are REPLAYED with a queued record: repeats that wait for their order's decision.
 * False: none is. */
bool partition_accept(struct session *session, struct batch *batch, int64_t *epoch);
void partition_set_pending(struct batch *batch, enum order_outcome outcome);
/* Takes the orders that are to be sent on out of the batch, parks and publishes them. */
void partition_send(struct session *session, struct batch *batch, int64_t epoch);

/* A request is the product and a line an order. */
void partition_write_product(FILE *to, int64_t product_id);
void partition_write_order(FILE *to, const struct order *order, int64_t epoch);
void partition_write_id(FILE *to, const struct uuid *id); /* of a buy */
/* Adds the entries of a request to `out`, of which `*count` are used and PARTITION_BATCH free.
 * False: not understood. */
bool partition_read_request(const char *body, struct partition_entry *out, int *count);

/* A reply is a line an order; of a buy it tells the end of its hold. */
void partition_write_reply(FILE *to, const struct partition_entry *entry);
/* Reads one line and moves on; false at the end. */
bool partition_read_reply(const char **body, struct partition_entry *out);

/* Publishes a request to the product's set, twice at most, and waits for the confirm. False: it may
 * or may not be there. */
bool partition_publish(struct session *session, int64_t product_id, const char *reply_to,
                       const char *body, size_t length, int64_t until_us);

/* The rows that this thread was not given. */
struct held;
struct held *partition_held(void);

/* Decide entries of one kind; each gets its outcome, also when it had been decided before, but for
 * those for which somebody else holds a lock: they are RETRY, to be asked for again; what is not
 * there is `missing`, of which a buy and its cancel are OUTCOME_UNKNOWN. False: PostgreSQL is out
 * of reach, and what was done is unknown; the same may be asked again. */
bool partition_decide_buys(struct session *session, struct partition_entry *entries, int count);
bool partition_decide_cancel(struct session *session, struct partition_entry *entry);
bool partition_decide_restock(struct session *session, struct partition_entry *entry);

/* The entries that a consumer has put off. It has acknowledged the buys among them: their rows are
 * queued, and the resender publishes those that are lost. Cancels, expiries and restocks exist as
 * messages alone. */
struct put_off;
struct put_off *put_off_create(void);
void put_off_destroy(struct put_off *list); /* NULL is allowed */
bool put_off_is_empty(const struct put_off *list);
/* Adds one that came in the message of this tag, at the end; a buy that is there already, or for
 * which there is no room, is left to the resender. False: no room for what is no buy. */
bool put_off_add(struct put_off *list, const struct partition_entry *entry, const char *reply_to,
                 uint64_t tag);
/* The first of a product whose row is to be had now, or may be; 0: there is none. */
int64_t put_off_find_free(struct put_off *list, struct session *session);
/* Takes the product's first entries out, as long as there is room: for PARTITION_BATCH in
 * `entries`, each with the number of its place in `reply_to` and `tags`, of which there are
 * `places`. How many; *used is how many places are. */
int put_off_take(struct put_off *list, int64_t product_id, struct partition_entry *entries,
                 char (*reply_to)[RABBIT_NAME_MAX + 1], uint64_t *tags, int places, int *used);
/* Whether the message with this tag, or any, may not be acknowledged yet. */
bool put_off_keeps(const struct put_off *list, uint64_t tag);
bool put_off_keeps_any(const struct put_off *list);
/* The connection is gone: what was not acknowledged on it comes again. */
void put_off_forget_unacknowledged(struct put_off *list);

/* The threads. Start returns false when there is no memory or thread. */
bool partition_consumers_start(struct partitioned_queue *queue);
void partition_consumers_stop(struct partitioned_queue *queue);
bool partition_resender_start(struct partitioned_queue *queue);
void partition_resender_stop(struct partitioned_queue *queue);

#endif
