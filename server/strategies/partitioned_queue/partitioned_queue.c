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
#include "base/clock.h"
#include "strategies/partitioned_queue/partition.h"
#include "strategies/strategies.h"
#include "strategy/parking.h"

#include <stdlib.h>

#ifdef SECKILL_RABBITMQ
static void partitioned_queue_sell(struct session *session, struct batch *batch)
{
    int64_t epoch;

    if (!parking_has_room(session->services->parking, batch->count))
        partition_set_pending(batch, ORDER_QUEUE_FULL);
    else if (partition_accept(session, batch, &epoch))
        partition_send(session, batch, epoch);
}

static void stop(void *instance)
{
    struct partitioned_queue *queue = instance;

    partition_consumers_stop(queue);
    partition_resender_stop(queue);
    free(queue);
}

static void *start(const struct services *services, struct error *error)
{
    struct partitioned_queue *queue = calloc(1, sizeof *queue);
    struct uuid id = uuid_v7(clock_wall_us());
    char text[UUID_TEXT_LENGTH + 1];

    if (queue) {
        queue->services = services;
        queue->strategy = &strategy_partitioned_queue;
        uuid_format(&id, text);
        snprintf(queue->replies, sizeof queue->replies, "%s.replies.%s",
                 services->settings->system_name, text);
        if (partition_resender_start(queue) && partition_consumers_start(queue))
            return queue;
        stop(queue);
    }
    error_set(error, ERROR_INTERNAL, "cannot start the threads of partitioned-queue");
    return NULL;
}

#endif

const struct strategy strategy_partitioned_queue = {
    .name = "partitioned-queue",
    .summary = "Products spread over RabbitMQ queues; one consumer a queue decides, in order.",
    .summary_zh = "队列削峰：商品分散到 RabbitMQ 的各个队列，每个队列由一个消费者按序裁决",
    .family = FAMILY_QUEUE,
    .needs = NEED_POSTGRESQL | NEED_RABBITMQ,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    .asynchronous = true,
    .mixes = true,
    .lane = {.in_flight_per_product = 1, .keyed = true, .workers = 4, .max_batch = PARTITION_BATCH},
    .sessions = PARTITION_CONSUMERS + 1,
#ifdef SECKILL_RABBITMQ
    .sell = partitioned_queue_sell,
    .start = start,
    .stop = stop,
#endif
};
