/*
 * The background threads of partitioned-queue: receiver and resender.
 *
 * Happy path:
 * - The receiver takes replies from this instance's own reply queue and completes the orders that
 *   are parked for them.
 *
 * Failure modes:
 * - A reply arrives after its order's wait has ended: the receiver drops it.
 * - The consumer does not know the order: the resender looks, in the database that it was written
 *   into.
 * - No reply to a cancel or a restock arrives in time: the resender reads the order's row and
 *   completes the order.
 * - A message was never sent or never confirmed, or its queue has gone: the order's row stays
 *   queued. Once a second the resender publishes such rows again. It claims them with SKIP LOCKED,
 *   so that instances share the work. A message that is published twice is harmless.
 * - The broker is down: the resender claims nothing; the receiver connects again.
 */
#include "base/clock.h"
#include "base/log.h"
#include "metrics/metrics.h"
#include "postgres/catalog.h"
#include "sale/purchase.h"
#include "sale/settle.h"
#include "strategies/partitioned_queue/partition.h"
#include "strategy/external_state.h"
#include "strategy/parking.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_US = 200000, SWEEP_US = 1000000, ROUNDS_MAX = 20 };

struct resender {
    const struct services *services; /* borrowed: app */
    struct session *receiver;        /* owned */
    struct session *session;         /* owned: the resender's */
    pthread_t receiver_thread;
    pthread_t resender_thread;
    bool receiver_started;
    bool resender_started;
    atomic_bool stopping;
    bool withheld; /* that a row is was logged */
    struct metric republished;
};

/* --- replies --- */

static bool is_sold(const struct partition_entry *reply)
{
    return reply->kind == ORDER_BUY &&
           (reply->outcome == ORDER_CONFIRMED || reply->outcome == ORDER_CANCELLED ||
            reply->outcome == ORDER_EXPIRED);
}

static void apply_sold(struct order *order, const struct partition_entry *reply)
{
    order->hold_until_us = reply->hold_until_us;
    if (order->outcome != ORDER_REPLAYED)
        purchase_confirm(order);
    order->record.hold_until_us = reply->hold_until_us;
    order->record.status = reply->outcome == ORDER_CANCELLED ? STATUS_CANCELLED
                           : reply->outcome == ORDER_EXPIRED ? STATUS_EXPIRED
                           : reply->hold_until_us            ? STATUS_PENDING
                                                             : STATUS_CONFIRMED;
}

static void apply(struct order *order, const struct partition_entry *reply)
{
    if (is_sold(reply)) {
        apply_sold(order, reply);
        return;
    }
    order->outcome = reply->outcome;
    if (reply->outcome == ORDER_CANCELLED) {
        purchase_confirm(order);
        order->outcome = ORDER_CANCELLED;
        order->record.status = STATUS_CANCELLED;
        order->record.created_us = reply->created_us;
    }
}

static void take_replies(struct parking *parking, const char *body)
{
    struct partition_entry reply;
    struct order *done = NULL;

    while (partition_read_reply(&body, &reply)) {
        struct order *order = parking_take(parking, reply.kind, &reply.id);
        if (!order)
            continue;
        if (reply.outcome == ORDER_OUTCOME_UNKNOWN) {
            if (order->kind != ORDER_BUY)
                order->outcome = reply.outcome;
            parking_put_overdue(parking, order);
            continue;
        }
        apply(order, &reply);
        order->next = done;
        done = order;
    }
    parking_complete(parking, done);
}

static bool listen_for_replies(const struct session *session)
{
    struct rabbit *rabbit = partition_rabbit(session);

    return rabbit_connect(rabbit, clock_mono_us() + PARTITION_TIMEOUT_US) &&
           rabbit_consume(rabbit, RABBIT_REPLIES, partition_replies(session));
}

static void *receiver_main(void *argument)
{
    struct resender *at = argument;
    struct rabbit *rabbit = partition_rabbit(at->receiver);
    struct rabbit_message message;
    bool listening = false;

    while (!atomic_load(&at->stopping)) {
        if (!listening && !listen_for_replies(at->receiver)) {
            rabbit_close(rabbit);
            clock_sleep_until(clock_mono_us() + LOOK_US);
            continue;
        }
        enum rabbit_result result = rabbit_receive(rabbit, clock_mono_us() + LOOK_US, &message);
        listening = result != RABBIT_LOST;
        if (result == RABBIT_GOT)
            take_replies(at->services->parking, message.body);
    }
    return NULL;
}

/* --- what is overdue, or unknown to a consumer --- */

/* It was written here. Is it still, or has its sale ended since? */
static void settle_buy(struct session *session, struct order *order)
{
    if (order->outcome != ORDER_REPLAYED)
        parking_accept(order);
    if (pg_connect(session->pg, order->settle_until_us) &&
        pg_exec(session->pg, SQL_ORDER_READ, PG_ARGS(pg_uuid(parking_id(order))),
                order->settle_until_us) == PG_OK &&
        pg_rows(session->pg) == 0)
        order->outcome = ORDER_SALE_NOT_OPEN;
}

/* The broker has the cancel, so a consumer will do it, unless it was unknown to those who had it;
 * the order's row says whether one already has. */
static void settle_cancel(struct session *session, struct order *order)
{
    bool dropped = order->outcome == ORDER_OUTCOME_UNKNOWN;

    order->outcome = ORDER_OUTCOME_UNKNOWN;
    if (!pg_connect(session->pg, order->settle_until_us) ||
        pg_exec(session->pg, SQL_ORDER_READ, PG_ARGS(pg_uuid(&order->id)),
                order->settle_until_us) != PG_OK)
        return;
    order->outcome = ORDER_NOT_FOUND;
    if (pg_rows(session->pg) == 0)
        return;
    purchase_saw_order(session->pg, order);
    switch (order->record.status) {
    case STATUS_CANCELLED:
    case STATUS_EXPIRED:
        if (order->record.status != order_returned_status(order->kind))
            order->outcome = ORDER_NOT_CANCELLABLE;
        else if (purchase_flush_read(session, order, order->settle_until_us))
            order->outcome = order_returned_outcome(order->kind);
        break;
    case STATUS_FAILED:
        order->outcome = ORDER_NOT_CANCELLABLE;
        break;
    default:
        order->outcome = dropped ? ORDER_OUTCOME_UNKNOWN : ORDER_ACCEPTED;
    }
}

/* Finds the restock done, or writes the tombstone that prevents it for ever. */
static void settle_restock(struct session *session, struct order *order)
{
    struct batch batch = {.orders = order, .product_id = order->product_id, .count = 1};

    order->outcome = ORDER_UNSETTLED;
    order->if_not_done = ORDER_LOCK_TIMEOUT;
    session->work_until_us = order->settle_until_us;
    settle_batch(session, &batch);
}

/* The consumer that added the units may not have told the external state, or may have died before.
 */
static void announce_stock(struct session *session, const struct order *order)
{
    struct external_state_gains gains;

    gains.count = 0;
    external_state_note_gain(&gains, order->product_id, order->kind, order->outcome);
    external_state_stock_added(session, partition_strategy(session), &gains);
}

static void settle_overdue(struct resender *at, struct order *list)
{
    for (struct order *next; list; list = next) {
        next = list->next;
        list->next = NULL;
        if (list->kind == ORDER_BUY)
            settle_buy(at->session, list);
        else if (list->kind == ORDER_CANCEL || list->kind == ORDER_EXPIRE)
            settle_cancel(at->session, list);
        else
            settle_restock(at->session, list);
        announce_stock(at->session, list);
        parking_complete(at->services->parking, list);
    }
}

/* --- what was lost --- */

struct lost {
    struct uuid id;
    int64_t product_id;
};

/* By product; within a product by id, which is the order of arrival. */
static int compare_lost(const void *left, const void *right)
{
    const struct lost *a = left;
    const struct lost *b = right;

    if (a->product_id != b->product_id)
        return a->product_id < b->product_id ? -1 : 1;
    return memcmp(a->id.bytes, b->id.bytes, sizeof a->id.bytes);
}

/* Publishes `count` orders of one product again. Their callers have been answered, or read the row
 * themselves: no reply is needed. */
static bool publish_again(struct resender *at, const struct lost *lost, int count)
{
    char *body = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&body, &length);

    if (!to)
        return false;
    partition_write_product(to, lost->product_id);
    for (int i = 0; i < count; i++)
        partition_write_id(to, &lost[i].id);
    fclose(to);
    bool published =
        partition_publish(at->session, lost->product_id, partition_replies(at->session), body,
                          length, clock_mono_us() + PARTITION_TIMEOUT_US);
    free(body);
    if (published)
        metrics_add(at->republished, (uint64_t)count);
    return published;
}

/* Of the present result, those that were not withheld. */
static int take_lost(const struct pg *pg, struct lost *lost)
{
    int count = 0;

    for (int i = 0; i < pg_rows(pg); i++)
        if (!pg_is_null(pg, i, 0))
            lost[count++] = (struct lost){pg_get_uuid(pg, i, 0), pg_get_int8(pg, i, 1)};
    return count;
}

static void note_withheld(struct resender *at, bool withheld)
{
    if (withheld && !at->withheld) {
        pg_withheld(at->session->pg, "orders");
        log_warn("partitioned-queue: an order is not sent again: %s",
                 pg_error(at->session->pg)->text);
    }
    at->withheld = withheld;
}

/* Claims some rows and publishes them. True when there may be more. */
static bool sweep_some(struct resender *at)
{
    struct session *session = at->session;
    struct lost lost[PARTITION_BATCH];
    int64_t until_us = clock_mono_us() + PARTITION_TIMEOUT_US;

    if (!pg_connect(session->pg, until_us) ||
        pg_exec(session->pg, SQL_QUEUE_SWEEP,
                PG_ARGS(pg_text(partition_strategy(session)->name), pg_int8(PARTITION_BATCH)),
                until_us) != PG_OK)
        return false;
    int count = take_lost(session->pg, lost);
    note_withheld(at, count < pg_rows(session->pg));
    bool more = pg_rows(session->pg) == PARTITION_BATCH;
    qsort(lost, (size_t)count, sizeof *lost, compare_lost);
    for (int first = 0, n; first < count; first += n) {
        for (n = 1; first + n < count && lost[first + n].product_id == lost[first].product_id;)
            n++;
        if (!publish_again(at, lost + first, n))
            return false;
    }
    return more;
}

static void sweep(struct resender *at)
{
    struct session *session = at->session;
    int64_t until_us = clock_mono_us() + PARTITION_TIMEOUT_US;
    int rounds = 0;

    if (!backend_rabbitmq.up(session->services->backends[BACKEND_RABBITMQ]))
        return; /* nothing is claimed that could not be sent; the receiver finds the broker again */
    if (pg_connect(session->pg, until_us))
        pg_exec(session->pg, SQL_QUEUE_BURY, PG_NO_ARGS, until_us);
    while (!atomic_load(&at->stopping) && rounds++ < ROUNDS_MAX && sweep_some(at))
        ;
    rabbit_close(
        partition_rabbit(session)); /* nobody would serve its heartbeats until the next time */
}

static void *resender_main(void *argument)
{
    struct resender *at = argument;
    int64_t next_us = 0;

    while (!atomic_load(&at->stopping)) {
        settle_overdue(
            at, parking_take_overdue(at->services->parking, clock_mono_us() + (int64_t)LOOK_US));
        if (clock_mono_us() >= next_us) {
            sweep(at);
            next_us = clock_mono_us() + SWEEP_US;
        }
        cost_charge(at->services, partition_strategy(at->session), COST_OTHER, 0);
    }
    return NULL;
}

bool partition_resender_start(struct partitioned_queue *queue)
{
    struct resender *at = calloc(1, sizeof *at);

    queue->resender = at;
    if (!at)
        return false;
    at->services = queue->services;
    at->republished =
        metrics_counter(at->services->metrics, METRICS_ALWAYS, "seckill_queue_republished_total",
                        "Queued orders that were sent to the broker again by this instance.", "");
    at->receiver = session_create(queue->services);
    at->session = session_create(queue->services);
    if (!at->receiver || !at->session)
        return false;
    at->receiver->instance = at->session->instance = queue;
    at->receiver_started = pthread_create(&at->receiver_thread, NULL, receiver_main, at) == 0;
    at->resender_started =
        at->receiver_started && pthread_create(&at->resender_thread, NULL, resender_main, at) == 0;
    return at->resender_started;
}

void partition_resender_stop(struct partitioned_queue *queue)
{
    struct resender *at = queue->resender;

    if (!at)
        return;
    atomic_store(&at->stopping, true);
    if (at->receiver_started)
        pthread_join(at->receiver_thread, NULL);
    if (at->resender_started)
        pthread_join(at->resender_thread, NULL);
    session_destroy(at->receiver);
    session_destroy(at->session);
    free(at);
}
