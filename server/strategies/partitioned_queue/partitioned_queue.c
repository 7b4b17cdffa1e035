/*
 * partitioned-queue: no lock; products are spread over queues, and one consumer a queue decides.
 *
 * A product belongs to set `product_id % sets`, and each set is a RabbitMQ quorum queue with a
 * single active consumer. Whichever instance an order comes to writes it, with the others that wait
 * for the same product, as a `queued` row in one statement (the key's UNIQUE decides repeats),
 * parks it, and publishes one message that names them all. The set's consumer, in whatever
 * instance, decides them in arrival order in one transaction and commits; then it replies, and then
 * it acknowledges. The reply completes the parked orders: 201 or 409. An order whose wait ends
 * first is told 202, and is decided all the same.
 *
 * It cannot oversell: the queue only brings order, PostgreSQL decides. The consumer holds the
 * product's row, decides only rows that are still `queued`, and takes stock that is there, so a
 * second consumer, a message that comes twice or one that comes late does nothing.
 *
 * Nothing accepted is lost: the row is committed before anything is published, and what stays
 * queued for three seconds is published again (partition_resender.c). A consumer that dies between
 * commit and acknowledgement leaves its messages to the next one, which finds them decided. A
 * restock has no row before it is done; one that is late is settled by its tombstone.
 *
 * Source: "Set-ised MQ in place of a lock" (article 001); RabbitMQ documentation, "Quorum
 * Queues", "Single Active Consumer"; the transactional outbox.
 */
#include "strategies/partitioned_queue/partition.h"
#include "strategies/strategies.h"
#include "strategy/parking.h"

#include <stdlib.h>

#ifdef SECKILL_RABBITMQ
/* What is parked belongs to whoever hears of it first; these may be asked for again. */
struct unconfirmed {
    int count;
    struct {
        enum order_kind kind;
        struct uuid id;
    } orders[PARTITION_BATCH];
};

/* A new order, or the repeat of one that is queued. */
static bool is_to_be_sent(const struct order *order)
{
    return order->outcome == ORDER_PENDING ||
           (order->outcome == ORDER_REPLAYED && order->record.status == STATUS_QUEUED);
}

/* Moves what is to be sent out of the batch, and writes the message. */
static struct order *pack(struct batch *batch, int64_t epoch, FILE *to, struct unconfirmed *kept)
{
    struct order *packed = NULL;
    struct order **end = &packed;

    kept->count = 0;
    partition_write_product(to, batch->product_id);
    for (struct order **at = &batch->orders; *at;) {
        struct order *order = *at;
        if (!is_to_be_sent(order)) {
            at = &order->next;
            continue;
        }
        partition_write_order(to, order, epoch);
        if (order->kind != ORDER_BUY) {
            kept->orders[kept->count].kind = order->kind;
            kept->orders[kept->count++].id = order->id;
        }
        *at = order->next;
        order->next = NULL;
        *end = order;
        end = &order->next;
    }
    return packed;
}

/* The message may or may not be at the broker. A buy has its row and is sent again; a restock is
 * settled by its tombstone; of a cancel the order's row will tell. */
static void take_back(struct session *session, struct batch *batch, const struct unconfirmed *kept)
{
    struct parking *parking = session->services->parking;

    for (int i = 0; i < kept->count; i++) {
        struct order *order = parking_take(parking, kept->orders[i].kind, &kept->orders[i].id);
        if (!order)
            continue;
        order->outcome = order->kind == ORDER_RESTOCK ? ORDER_UNSETTLED : ORDER_OUTCOME_UNKNOWN;
        order->if_not_done = ORDER_BACKEND_UNAVAILABLE;
        order->next = batch->orders;
        batch->orders = order;
        parking_return(parking, 1);
    }
}

static void send(struct session *session, struct batch *batch, int64_t epoch)
{
    struct unconfirmed kept;
    char *body = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&body, &length);

    if (!to) {
        partition_set_pending(batch, ORDER_OUTCOME_UNKNOWN); /* the rows are there */
        return;
    }
    struct order *packed = pack(batch, epoch, to, &kept);
    fclose(to);
    if (packed) {
        parking_put(session->services->parking, packed);
        if (!partition_publish(session, batch->product_id, partition_replies(), body, length,
                               session->work_until_us))
            take_back(session, batch, &kept);
    }
    free(body);
}

static void sell(struct session *session, struct batch *batch)
{
    int64_t epoch;

    if (!parking_has_room(session->services->parking, batch->count))
        partition_set_pending(batch, ORDER_QUEUE_FULL);
    else if (partition_accept(session, batch, &epoch))
        send(session, batch, epoch);
}

static bool start(const struct services *services, struct error *error)
{
    partition_choose_replies(services->settings);
    return (partition_resender_start(services) && partition_consumers_start(services)) ||
           error_set(error, ERROR_INTERNAL, "cannot start the threads of partitioned-queue");
}

static void stop(const struct services *services)
{
    (void)services;
    partition_consumers_stop();
    partition_resender_stop();
}

#else
const struct backend backend_rabbitmq = {
    .name = "rabbitmq",
    .absent = "librabbitmq was absent when this server was built (--amqp)",
};
#endif

const struct strategy strategy_partitioned_queue = {
    .name = "partitioned-queue",
    .summary = "Products spread over RabbitMQ queues; one consumer a queue decides, in order.",
    .family = FAMILY_QUEUE,
    .needs = NEED_POSTGRESQL | NEED_RABBITMQ,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    .asynchronous = true,
    .mixes = true,
    .lane = {.in_flight_per_product = 1, .keyed = true, .workers = 4, .max_batch = PARTITION_BATCH},
    .sessions = PARTITION_CONSUMERS + 1,
#ifdef SECKILL_RABBITMQ
    .sell = sell,
    .start = start,
    .stop = stop,
#endif
};
