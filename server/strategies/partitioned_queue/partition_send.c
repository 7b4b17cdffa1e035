/*
 * Accepted orders leave the batch: they are parked, and one message that names them all is
 * published. The order of the two matters, for the reply may come before the publisher's confirm.
 * When the confirm does not come, what is no buy is taken back and settled here.
 */
#include "strategies/partitioned_queue/partition.h"
#include "strategy/parking.h"

#include <stdlib.h>

/* A parked order belongs to the first thread that hears of its end; these may be asked for
 * again. */
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

void partition_send(struct session *session, struct batch *batch, int64_t epoch)
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
        if (!partition_publish(session, batch->product_id, partition_replies(session), body, length,
                               session->work_until_us))
            take_back(session, batch, &kept);
    }
    free(body);
}
