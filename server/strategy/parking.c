/*
 * A table by the order's id, under one mutex: put, take, and now and then a look at all of them for
 * what has expired. An order is in the table or in the hands of one taker, so it is completed once.
 * A repeat is under its first order's id. A full parking has no room: the strategy asks before it
 * passes orders on, and answers queue_full.
 */
#include "strategy/parking.h"

#include "base/clock.h"
#include "strategy/strategy.h"

#include <pthread.h>
#include <stdlib.h>

/* TIMEOUT_US: a cancel or a restock with wait_ms=0 may wait for one round trip through the queue.
 */
enum { BUCKETS = 4096, TIMEOUT_US = 500000 };

struct parking {
    int capacity;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        void (*complete)(void *context, struct order *list);
        void *context;
        struct order *buckets[BUCKETS]; /* chained by order->next */
        struct order *overdue;
        int count;        /* in buckets */
        int taken;        /* out and not completed; the overdue ones among them */
        int64_t first_us; /* no order expires before this */
    } shared;
};

struct parking *parking_create(int capacity)
{
    struct parking *parking = calloc(1, sizeof *parking);

    if (!parking)
        return NULL;
    parking->capacity = capacity;
    parking->shared.first_us = INT64_MAX;
    pthread_mutex_init(&parking->shared.mutex, NULL);
    clock_cond_init(&parking->shared.changed);
    return parking;
}

void parking_destroy(struct parking *parking)
{
    if (!parking)
        return;
    pthread_cond_destroy(&parking->shared.changed);
    pthread_mutex_destroy(&parking->shared.mutex);
    free(parking);
}

void parking_open(struct parking *parking, void (*complete)(void *context, struct order *list),
                  void *context)
{
    pthread_mutex_lock(&parking->shared.mutex);
    parking->shared.complete = complete;
    parking->shared.context = context;
    pthread_mutex_unlock(&parking->shared.mutex);
}

/* A UUIDv7 ends in random bits. */
static struct order **bucket_of(struct parking *parking, const struct uuid *id)
{
    unsigned hash = (unsigned)id->bytes[14] << 8 | id->bytes[15];

    return &parking->shared.buckets[hash % BUCKETS];
}

const struct uuid *parking_id(const struct order *order)
{
    return order->outcome == ORDER_REPLAYED ? &order->record.id : &order->id;
}

static int64_t expires_us(const struct order *order)
{
    int64_t least_us = order->arrived_us + order->queue_us + TIMEOUT_US;

    return order->kind == ORDER_BUY || order->wait_until_us > least_us ? order->wait_until_us
                                                                       : least_us;
}

void parking_accept(struct order *order)
{
    order->outcome = ORDER_ACCEPTED;
    order_fill_record(order, order->strategy->name, STATUS_QUEUED);
}

bool parking_has_room(struct parking *parking, int count)
{
    return parking_count(parking) + count <= parking->capacity;
}

void parking_put(struct parking *parking, struct order *list)
{
    pthread_mutex_lock(&parking->shared.mutex);
    for (struct order *next; list; list = next) {
        struct order **bucket = bucket_of(parking, parking_id(list));
        next = list->next;
        list->next = *bucket;
        *bucket = list;
        parking->shared.count++;
        if (expires_us(list) < parking->shared.first_us)
            parking->shared.first_us = expires_us(list);
    }
    pthread_mutex_unlock(&parking->shared.mutex);
}

/* Everything since the lane was work. */
static void stop_clock(struct order *order)
{
    order->work_us = clock_mono_us() - order->arrived_us - order->queue_us;
}

struct order *parking_take(struct parking *parking, enum order_kind kind, const struct uuid *id)
{
    pthread_mutex_lock(&parking->shared.mutex);
    struct order **at = bucket_of(parking, id);
    while (*at && !((*at)->kind == kind && uuid_equal(parking_id(*at), id)))
        at = &(*at)->next;
    struct order *order = *at;
    if (order) {
        *at = order->next;
        order->next = NULL;
        parking->shared.count--;
        parking->shared.taken++;
        stop_clock(order);
    }
    pthread_mutex_unlock(&parking->shared.mutex);
    return order;
}

/* Moves what has expired at `now_us` out of the buckets: buys to the list, others to overdue. */
static struct order *sift(struct parking *parking, int64_t now_us)
{
    struct order *buys = NULL;

    parking->shared.first_us = INT64_MAX;
    for (int i = 0; parking->shared.count > 0 && i < BUCKETS; i++)
        for (struct order **at = &parking->shared.buckets[i]; *at;) {
            struct order *order = *at;
            if (expires_us(order) > now_us) {
                if (expires_us(order) < parking->shared.first_us)
                    parking->shared.first_us = expires_us(order);
                at = &order->next;
                continue;
            }
            struct order **to = order->kind == ORDER_BUY ? &buys : &parking->shared.overdue;
            *at = order->next;
            order->next = *to;
            *to = order;
            stop_clock(order);
            parking->shared.count--;
            parking->shared.taken++;
        }
    if (parking->shared.overdue)
        pthread_cond_broadcast(&parking->shared.changed);
    return buys;
}

static void accept_all(struct parking *parking, struct order *buys)
{
    for (struct order *order = buys; order; order = order->next)
        if (order->outcome != ORDER_REPLAYED)
            parking_accept(order);
    parking_complete(parking, buys);
}

void parking_expire(struct parking *parking, int64_t now_us)
{
    pthread_mutex_lock(&parking->shared.mutex);
    struct order *buys = parking->shared.first_us <= now_us ? sift(parking, now_us) : NULL;
    pthread_mutex_unlock(&parking->shared.mutex);
    accept_all(parking, buys);
}

struct order *parking_take_overdue(struct parking *parking, int64_t until_us)
{
    struct timespec until = clock_timespec(until_us);
    int late = 0;

    pthread_mutex_lock(&parking->shared.mutex);
    while (!parking->shared.overdue && !late)
        late = pthread_cond_timedwait(&parking->shared.changed, &parking->shared.mutex, &until);
    struct order *list = parking->shared.overdue;
    parking->shared.overdue = NULL;
    pthread_mutex_unlock(&parking->shared.mutex);
    return list;
}

void parking_put_overdue(struct parking *parking, struct order *order)
{
    pthread_mutex_lock(&parking->shared.mutex);
    order->next = parking->shared.overdue;
    parking->shared.overdue = order;
    pthread_cond_broadcast(&parking->shared.changed);
    pthread_mutex_unlock(&parking->shared.mutex);
}

void parking_return(struct parking *parking, int count)
{
    pthread_mutex_lock(&parking->shared.mutex);
    parking->shared.taken -= count;
    pthread_cond_broadcast(&parking->shared.changed);
    pthread_mutex_unlock(&parking->shared.mutex);
}

void parking_complete(struct parking *parking, struct order *list)
{
    int count = order_count(list); /* the completion has them afterwards */

    if (!list)
        return;
    /* parking_close waits until `taken` is 0, so the completion that is called here still exists.
     */
    parking->shared.complete(parking->shared.context, list);
    parking_return(parking, count);
}

void parking_close(struct parking *parking)
{
    pthread_mutex_lock(&parking->shared.mutex);
    struct order *buys = sift(parking, INT64_MAX);
    struct order *others = parking->shared.overdue;
    parking->shared.overdue = NULL;
    pthread_mutex_unlock(&parking->shared.mutex);

    for (struct order *order = others; order; order = order->next)
        order->outcome = ORDER_OUTCOME_UNKNOWN;
    accept_all(parking, buys);
    parking_complete(parking, others);

    pthread_mutex_lock(&parking->shared.mutex);
    while (parking->shared.taken > 0)
        pthread_cond_wait(&parking->shared.changed, &parking->shared.mutex);
    pthread_mutex_unlock(&parking->shared.mutex);
}

int64_t parking_count(struct parking *parking)
{
    pthread_mutex_lock(&parking->shared.mutex);
    int64_t count = parking->shared.count;
    pthread_mutex_unlock(&parking->shared.mutex);
    return count;
}
