/*
 * The lane under threads: every order out exactly once, no two hands on one product, each product
 * in order; and each worker woken for its reason.
 */
#include "base/clock.h"
#include "lib/t.h"
#include "unit/dispatch/lane_orders.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PRODUCERS = 3, CONSUMERS = 4, PRODUCTS = 5, ORDERS_EACH = 4000 };

struct race {
    struct lane *lane;
    atomic_int inside[PRODUCTS];
    int64_t last[PRODUCTS][PRODUCERS]; /* guarded by being inside */
    atomic_int seen;
    atomic_int faults;
};

struct producer {
    struct race *race;
    int number;
    struct order *orders;
};

static void *produce(void *argument)
{
    struct producer *producer = argument;

    for (int i = 0; i < ORDERS_EACH; i++) {
        struct order *order = &producer->orders[i];
        *order = order_for(i % PRODUCTS, producer->number);
        order->quantity = i + 1;
        if (put_one(producer->race->lane, order))
            atomic_fetch_add(&producer->race->faults, 1);
    }
    return NULL;
}

static void consume_mailbox(struct race *race, struct mailbox *mailbox)
{
    int64_t product = mailbox_product(mailbox);
    int count = 0;

    if (atomic_fetch_add(&race->inside[product], 1) != 0)
        atomic_fetch_add(&race->faults, 1);
    struct order *list = lane_take(race->lane, mailbox, 7, &count);
    for (struct order *order = list; order; order = order->next) {
        if (order->product_id != product || race->last[product][order->user_id] >= order->quantity)
            atomic_fetch_add(&race->faults, 1);
        race->last[product][order->user_id] = order->quantity;
    }
    lane_done(race->lane, mailbox, count);
    atomic_fetch_add(&race->seen, count);
    atomic_fetch_sub(&race->inside[product], 1);
    end_batch(race->lane, mailbox);
}

static void *consume(void *argument)
{
    struct race *race = argument;

    while (atomic_load(&race->seen) < PRODUCERS * ORDERS_EACH) {
        struct mailbox *mailbox = lane_wait(race->lane, clock_mono_us() + 20000);
        if (mailbox)
            consume_mailbox(race, mailbox);
    }
    return NULL;
}

TEST(many_threads_keep_products_apart_and_in_order)
{
    static struct race race;
    struct producer producers[PRODUCERS];
    pthread_t threads[PRODUCERS + CONSUMERS];

    memset(&race, 0, sizeof race);
    race.lane = lane_create(&keyed, PRODUCERS * ORDERS_EACH);
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){&race, i, calloc(ORDERS_EACH, sizeof(struct order))};
        pthread_create(&threads[i], NULL, produce, &producers[i]);
    }
    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&threads[PRODUCERS + i], NULL, consume, &race);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&race.faults), 0);
    assert_int_equal(atomic_load(&race.seen), PRODUCERS * ORDERS_EACH);
    struct lane_counts counts = lane_counts(race.lane);
    assert_int_equal(counts.waiting, 0);
    assert_int_equal(counts.working, 0);
    assert_int_equal(counts.mailboxes, 0);
    for (int i = 0; i < PRODUCERS; i++)
        free(producers[i].orders);
    lane_destroy(race.lane);
}

/* A worker that waits in the lane, for longer than any test. */
struct idler {
    struct lane *lane;
    pthread_t thread;
    atomic_bool back;
    struct mailbox *got;
};

enum { PATIENCE_US = 30000000 };

static void *idle(void *argument)
{
    struct idler *idler = argument;

    idler->got = lane_wait(idler->lane, clock_mono_us() + 10 * (int64_t)PATIENCE_US);
    atomic_store(&idler->back, true);
    return NULL;
}

static void start_idler(struct idler *idler, struct lane *lane)
{

    *idler = (struct idler){.lane = lane};
    pthread_create(&idler->thread, NULL, idle, idler);
    T_UNTIL(lane_counts(lane).idle != 0);
}

static void end_idler(struct idler *idler)
{

    T_UNTIL(atomic_load(&idler->back));
    pthread_join(idler->thread, NULL);
}

/* Two orders of a product; the first is worked on by a worker of our own, and is done. */
static struct lane *half_done(struct order orders[2], struct idler *idler)
{
    struct lane *lane = lane_create(&keyed, 10);
    int count = 0;

    orders[0] = order_for(1, 1);
    orders[1] = order_for(1, 2);
    put_one(lane, &orders[0]);
    put_one(lane, &orders[1]);
    assert_true(lane_worker_joins(lane));
    struct mailbox *mailbox = lane_wait(lane, clock_mono_us());
    lane_take(lane, mailbox, 1, &count);
    start_idler(idler, lane);
    lane_done(lane, mailbox, count);
    end_batch(lane, mailbox);
    return lane;
}

/* Waking another for it costs more than many an order, and in vain: whoever is awake is first. */
TEST(who_ends_a_batch_goes_on_with_the_next)
{
    struct order orders[2];
    struct idler idler;
    int count = 0;
    struct lane *lane = half_done(orders, &idler);

    struct mailbox *mailbox = lane_wait(lane, clock_mono_us());
    assert_non_null(mailbox);
    lane_take(lane, mailbox, 1, &count);
    assert_int_equal(count, 1);
    lane_done(lane, mailbox, count);
    end_batch(lane, mailbox);
    lane_wake(lane, true);
    end_idler(&idler);
    assert_null(idler.got);
    lane_destroy(lane);
}

TEST(who_leaves_for_good_wakes_another)
{
    struct order orders[2];
    struct idler idler;
    int count = 0;
    struct lane *lane = half_done(orders, &idler);

    assert_true(lane_worker_leaves(lane, true));
    end_idler(&idler);
    assert_non_null(idler.got);
    lane_take(lane, idler.got, 1, &count);
    lane_done(lane, idler.got, count);
    end_batch(lane, idler.got);
    lane_destroy(lane);
}
