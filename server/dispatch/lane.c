#include "dispatch/lane.h"

#include "base/clock.h"
#include "dispatch/mailboxes.h"

#include <pthread.h>
#include <stdlib.h>

/* START_US: how long a worker may take to start for an order with wait_ms=0. */
enum { START_US = 500000 };

struct lane {
    struct lane_rule rule;
    int capacity;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        struct mailboxes boxes;
        struct mailbox *first_ready;
        struct mailbox *last_ready;
        int ready;
        unsigned wakes;
        int64_t due_us; /* no waiting order's time is over before */
        bool closing;
        struct lane_counts counts;
    } shared;
};

struct lane *lane_create(const struct lane_rule *rule, int capacity)
{
    struct lane *lane = calloc(1, sizeof *lane);

    if (!lane)
        return NULL;
    lane->rule = *rule;
    lane->capacity = capacity;
    lane->shared.due_us = INT64_MAX;
    pthread_mutex_init(&lane->shared.mutex, NULL);
    clock_cond_init(&lane->shared.changed);
    return lane;
}

void lane_destroy(struct lane *lane)
{
    if (!lane)
        return;
    mailboxes_free(&lane->shared.boxes);
    pthread_cond_destroy(&lane->shared.changed);
    pthread_mutex_destroy(&lane->shared.mutex);
    free(lane);
}

static bool has_slot(const struct lane *lane, const struct mailbox *mailbox)
{
    return lane->rule.in_flight_per_product == 0 ||
           mailbox->in_flight < lane->rule.in_flight_per_product;
}

/* Puts the mailbox at the end of the ready list if it belongs there, and wakes a worker for it
 * unless the caller is one that will look for work. */
static void make_ready(struct lane *lane, struct mailbox *mailbox, bool wake)
{
    if (mailbox->ready || mailbox->forming || mailbox->waiting == 0 || !has_slot(lane, mailbox))
        return;
    mailbox->ready = true;
    mailbox->next_ready = NULL;
    if (lane->shared.first_ready)
        lane->shared.last_ready->next_ready = mailbox;
    else
        lane->shared.first_ready = mailbox;
    lane->shared.last_ready = mailbox;
    lane->shared.ready++;
    if (wake && lane->shared.counts.idle > 0)
        pthread_cond_signal(&lane->shared.changed);
}

static bool is_full(const struct lane *lane, const struct mailbox *mailbox)
{
    return (lane->rule.keyed ? mailbox->waiting : lane->shared.counts.waiting) >= lane->capacity;
}

/* Whether a worker would begin an order that is put now. */
static bool is_free(const struct lane *lane, const struct mailbox *mailbox)
{
    const struct lane_counts *counts = &lane->shared.counts;
    int hands = counts->idle + counts->coming + (lane->rule.workers - counts->workers);
    bool ends = mailbox->in_flight > 0 && mailbox->working == 0; /* a worker is about to leave */

    return mailbox->waiting == 0 && (has_slot(lane, mailbox) || ends) &&
           lane->shared.ready < hands + ends;
}

/* PENDING: there is room for the order. */
static enum order_outcome admit(const struct lane *lane, const struct mailbox *mailbox,
                                const struct order *order)
{
    if (!mailbox)
        return ORDER_QUEUE_FULL; /* out of memory */
    if (lane->shared.closing)
        return ORDER_SHUTTING_DOWN;
    if (order->no_wait && !is_free(lane, mailbox))
        return ORDER_QUEUE_TIMEOUT;
    return is_full(lane, mailbox) ? ORDER_QUEUE_FULL : ORDER_PENDING;
}

/* The key of the order's mailbox: the product's id, which is 1 at least, or 0 for all products. */
static int64_t key_of(const struct lane *lane, const struct order *order)
{
    return lane->rule.all_products ? 0 : order->product_id;
}

/* When its wait is over; INT64_MAX is never. */
static int64_t due_us(const struct order *order)
{
    bool soon = order->no_wait && order->wait_until_us <= INT64_MAX - START_US;
    return order->wait_until_us + (soon ? START_US : 0);
}

static void note_due(struct lane *lane, const struct order *order)
{
    if (due_us(order) < lane->shared.due_us)
        lane->shared.due_us = due_us(order);
}

struct order *lane_put(struct lane *lane, struct order *list)
{
    struct order *refused = NULL;

    pthread_mutex_lock(&lane->shared.mutex);
    for (struct order *next; list; list = next) {
        next = list->next;
        struct mailbox *mailbox = mailboxes_find_or_make(&lane->shared.boxes, key_of(lane, list));
        list->outcome = admit(lane, mailbox, list);
        if (list->outcome != ORDER_PENDING) {
            list->next = refused;
            refused = list;
            if (mailbox)
                mailboxes_remove_if_empty(&lane->shared.boxes, mailbox);
            continue;
        }
        mailbox_append(mailbox, list);
        mailbox->waiting++;
        lane->shared.counts.waiting++;
        note_due(lane, list);
        make_ready(lane, mailbox, true);
    }
    pthread_mutex_unlock(&lane->shared.mutex);
    return refused;
}

/* Moves the mailbox's waiting orders that are over at `now_us` to *out; an emptied mailbox that is
 * ready stays in the ready list until a worker finds it so. */
static void sift(struct lane *lane, struct mailbox *mailbox, int64_t now_us,
                 enum order_outcome outcome, struct order **out)
{
    struct order *order = mailbox->first;

    mailbox->first = mailbox->last = NULL;
    for (struct order *next; order; order = next) {
        next = order->next;
        if (due_us(order) <= now_us) {
            order->outcome =
                order->waited && outcome == ORDER_QUEUE_TIMEOUT ? ORDER_LOCK_TIMEOUT : outcome;
            order->next = *out;
            *out = order;
            mailbox->waiting--;
            lane->shared.counts.waiting--;
            continue;
        }
        note_due(lane, order);
        mailbox_append(mailbox, order);
    }
}

/* Looks at every order with the mutex held, so only when the time of some order may be over. */
static struct order *sift_all(struct lane *lane, int64_t now_us, enum order_outcome outcome)
{
    struct order *out = NULL;

    pthread_mutex_lock(&lane->shared.mutex);
    bool due = lane->shared.due_us <= now_us;
    if (due)
        lane->shared.due_us = INT64_MAX;
    for (int i = 0; due && lane->shared.counts.waiting > 0 && i < MAILBOX_BUCKETS; i++)
        for (struct mailbox *next, *mailbox = lane->shared.boxes.buckets[i]; mailbox;
             mailbox = next) {
            next = mailbox->next_in_bucket;
            sift(lane, mailbox, now_us, outcome, &out);
            mailboxes_remove_if_empty(&lane->shared.boxes, mailbox);
        }
    pthread_mutex_unlock(&lane->shared.mutex);
    return out;
}

struct order *lane_expire(struct lane *lane, int64_t now_us)
{
    return sift_all(lane, now_us, ORDER_QUEUE_TIMEOUT);
}

struct order *lane_flush(struct lane *lane, enum order_outcome outcome)
{
    return sift_all(lane, INT64_MAX, outcome);
}

static struct mailbox *pop_ready(struct lane *lane)
{
    struct mailbox *mailbox = lane->shared.first_ready;

    lane->shared.first_ready = mailbox->next_ready;
    lane->shared.ready--;
    mailbox->ready = false;
    mailbox->in_flight++;
    mailbox->forming = true;
    return mailbox;
}

struct mailbox *lane_wait(struct lane *lane, int64_t until_us)
{
    struct timespec until = clock_timespec(until_us);
    struct mailbox *mailbox = NULL;
    int late = 0;

    pthread_mutex_lock(&lane->shared.mutex);
    unsigned wakes = lane->shared.wakes;
    lane->shared.counts.coming--;
    while (!lane->shared.first_ready && !late && !lane->shared.closing &&
           wakes == lane->shared.wakes) {
        lane->shared.counts.idle++;
        late = pthread_cond_timedwait(&lane->shared.changed, &lane->shared.mutex, &until);
        lane->shared.counts.idle--;
    }
    if (lane->shared.first_ready)
        mailbox = pop_ready(lane);
    else
        lane->shared.counts.coming++;
    pthread_mutex_unlock(&lane->shared.mutex);
    return mailbox;
}

struct order *lane_take(struct lane *lane, struct mailbox *mailbox, int max, int *count)
{
    struct order *list = NULL;
    struct order **end = &list;

    pthread_mutex_lock(&lane->shared.mutex);
    for (*count = 0; *count < max && mailbox->first; ++*count) {
        *end = mailbox->first;
        end = &mailbox->first->next;
        mailbox->first = mailbox->first->next;
    }
    *end = NULL;
    if (!mailbox->first)
        mailbox->last = NULL;
    mailbox->waiting -= *count;
    lane->shared.counts.waiting -= *count;
    mailbox->working += *count;
    lane->shared.counts.working += *count;
    pthread_mutex_unlock(&lane->shared.mutex);
    return list;
}

void lane_give_back(struct lane *lane, struct mailbox *mailbox, struct order *order)
{
    pthread_mutex_lock(&lane->shared.mutex);
    order->outcome = ORDER_PENDING;
    order->next = mailbox->first;
    mailbox->first = order;
    if (!mailbox->last)
        mailbox->last = order;
    mailbox->waiting++;
    mailbox->working--;
    lane->shared.counts.waiting++;
    lane->shared.counts.working--;
    note_due(lane, order);
    pthread_mutex_unlock(&lane->shared.mutex);
}

void lane_offer(struct lane *lane, struct mailbox *mailbox)
{
    pthread_mutex_lock(&lane->shared.mutex);
    mailbox->forming = false;
    make_ready(lane, mailbox, true);
    pthread_mutex_unlock(&lane->shared.mutex);
}

void lane_done(struct lane *lane, struct mailbox *mailbox, int count)
{
    pthread_mutex_lock(&lane->shared.mutex);
    mailbox->working -= count;
    lane->shared.counts.working -= count;
    pthread_mutex_unlock(&lane->shared.mutex);
}

void lane_return(struct lane *lane, struct mailbox *mailbox, struct order *list)
{
    pthread_mutex_lock(&lane->shared.mutex);
    for (struct order *next; list; list = next) {
        next = list->next;
        mailbox_append(mailbox, list);
        note_due(lane, list);
        mailbox->waiting++;
        mailbox->working--;
        lane->shared.counts.waiting++;
        lane->shared.counts.working--;
    }
    pthread_mutex_unlock(&lane->shared.mutex);
}

void lane_leave(struct lane *lane, struct mailbox *mailbox)
{
    pthread_mutex_lock(&lane->shared.mutex);
    mailbox->in_flight--;
    lane->shared.counts.coming++;
    make_ready(lane, mailbox, false);
    mailboxes_remove_if_empty(&lane->shared.boxes, mailbox);
    pthread_mutex_unlock(&lane->shared.mutex);
}

static int missing_workers(const struct lane *lane)
{
    const struct lane_counts *counts = &lane->shared.counts;
    int missing = lane->shared.ready - counts->idle - counts->coming;
    int room = lane->rule.workers - counts->workers;

    return missing < room ? missing : room;
}

int lane_missing_workers(struct lane *lane)
{
    pthread_mutex_lock(&lane->shared.mutex);
    int count = missing_workers(lane);
    pthread_mutex_unlock(&lane->shared.mutex);
    return count;
}

bool lane_worker_joins(struct lane *lane)
{
    pthread_mutex_lock(&lane->shared.mutex);
    bool joins = missing_workers(lane) > 0;
    lane->shared.counts.workers += joins;
    lane->shared.counts.coming += joins;
    pthread_mutex_unlock(&lane->shared.mutex);
    return joins;
}

bool lane_worker_leaves(struct lane *lane, bool force)
{
    pthread_mutex_lock(&lane->shared.mutex);
    bool leaves = force || !lane->shared.first_ready;
    lane->shared.counts.workers -= leaves;
    lane->shared.counts.coming -= leaves;
    if (leaves && lane->shared.first_ready)
        pthread_cond_signal(&lane->shared.changed);
    pthread_mutex_unlock(&lane->shared.mutex);
    return leaves;
}

void lane_wake(struct lane *lane, bool for_good)
{
    pthread_mutex_lock(&lane->shared.mutex);
    lane->shared.wakes++;
    lane->shared.closing |= for_good;
    pthread_cond_broadcast(&lane->shared.changed);
    pthread_mutex_unlock(&lane->shared.mutex);
}

bool lane_is_closing(struct lane *lane)
{
    pthread_mutex_lock(&lane->shared.mutex);
    bool closing = lane->shared.closing;
    pthread_mutex_unlock(&lane->shared.mutex);
    return closing;
}

struct lane_counts lane_counts(struct lane *lane)
{
    pthread_mutex_lock(&lane->shared.mutex);
    struct lane_counts counts = lane->shared.counts;
    counts.mailboxes = lane->shared.boxes.count;
    pthread_mutex_unlock(&lane->shared.mutex);
    return counts;
}

int64_t mailbox_product(const struct mailbox *mailbox)
{
    return mailbox->product_id;
}
