/* See stock_handover.h: a list of entries under one mutex. */
#include "strategies/redis_stock/writer/stock_handover.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    HANDOVER_MAX = 20000, /* orders; some 3 MiB */
    /* A statement and a flush are shared by as many orders as have come in this time. */
    GATHER_ORDERS = 150,
    GATHER_US = 3000
};

struct handed {
    struct handed *next;
    int64_t put_us;
    char entry[STOCK_ENTRY_MAX];
    int count;
    struct waiting_order orders[];
};

/* Holds the mutex. Takes the whole list out. */
static struct handed *detach(struct stock_handover *handover)
{
    struct handed *list = handover->first;

    handover->first = NULL;
    handover->last = &handover->first;
    handover->orders = 0;
    return list;
}

/* Orders that are not handed over stand in Redis alone, and are kept. */
static void keep_all(struct stock_handover *handover, struct handed *list)
{
    while (list) {
        struct handed *gone = list;

        list = gone->next;
        if (gone->count > 0)
            stock_kept_add(&handover->kept, gone->entry, gone->orders, sizeof *gone->orders,
                           gone->count);
        free(gone);
    }
}

void stock_handover_init(struct stock_handover *handover)
{
    pthread_mutex_init(&handover->mutex, NULL);
    clock_cond_init(&handover->changed);
    stock_kept_init(&handover->kept);
    handover->open = false;
    detach(handover);
}

void stock_handover_fini(struct stock_handover *handover)
{
    keep_all(handover, detach(handover));
    stock_kept_fini(&handover->kept);
    pthread_cond_destroy(&handover->changed);
    pthread_mutex_destroy(&handover->mutex);
}

static struct handed *make(const char *entry, int64_t epoch, struct order *const *orders, int count)
{
    struct handed *made = malloc(sizeof *made + (size_t)count * sizeof *made->orders);

    if (!made)
        return NULL;
    made->next = NULL;
    made->put_us = clock_mono_us();
    made->count = 0;
    snprintf(made->entry, sizeof made->entry, "%s", entry);
    for (int i = 0; i < count; i++) {
        const struct order *order = orders[i];
        struct waiting_order *to = &made->orders[made->count];
        if (order->outcome != ORDER_ACCEPTED)
            continue;
        *to = (struct waiting_order){.id = order->id,
                                     .product_id = order->product_id,
                                     .epoch = epoch,
                                     .user_id = order->user_id,
                                     .quantity = order->quantity,
                                     .created_us = order->created_us,
                                     .hold_s = order->hold_s};
        snprintf(to->key, sizeof to->key, "%s", order->key);
        made->count++;
    }
    return made;
}

void stock_handover_put(struct stock_handover *handover, const char *entry, int64_t epoch,
                        struct order *const *orders, int count)
{
    struct handed *made = make(entry, epoch, orders, count);
    struct handed *dropped = NULL;
    bool wake = false;

    pthread_mutex_lock(&handover->mutex);
    if (!made || handover->orders + made->count > HANDOVER_MAX) {
        handover->open = false;
        dropped = detach(handover);
        wake = true;
    } else if (handover->open) {
        int before = handover->orders;
        handover->orders += made->count;
        wake = before == 0 || (before < GATHER_ORDERS && handover->orders >= GATHER_ORDERS);
        *handover->last = made;
        handover->last = &made->next;
        made = NULL;
    }
    pthread_mutex_unlock(&handover->mutex);
    if (wake)
        pthread_cond_signal(&handover->changed);
    keep_all(handover, dropped);
    keep_all(handover, made);
}

void stock_handover_open(struct stock_handover *handover)
{
    pthread_mutex_lock(&handover->mutex);
    handover->open = true;
    pthread_mutex_unlock(&handover->mutex);
}

void stock_handover_close(struct stock_handover *handover)
{
    pthread_mutex_lock(&handover->mutex);
    handover->open = false;
    struct handed *dropped = detach(handover);
    pthread_mutex_unlock(&handover->mutex);
    keep_all(handover, dropped);
}

bool stock_handover_is_open(struct stock_handover *handover)
{
    pthread_mutex_lock(&handover->mutex);
    bool open = handover->open;
    pthread_mutex_unlock(&handover->mutex);
    return open;
}

bool stock_handover_is_empty(struct stock_handover *handover)
{
    pthread_mutex_lock(&handover->mutex);
    bool empty = !handover->first;
    pthread_mutex_unlock(&handover->mutex);
    return empty;
}

/* Holds the mutex. */
static void gather(struct stock_handover *handover, int64_t until_us)
{
    bool late = false;

    while (!late && handover->orders < GATHER_ORDERS) {
        int64_t due_us = handover->first ? handover->first->put_us + GATHER_US : until_us;
        struct timespec due = clock_timespec(due_us);
        late = clock_mono_us() >= due_us;
        if (!late)
            pthread_cond_timedwait(&handover->changed, &handover->mutex, &due);
    }
}

/* Claims of the entry, behind those of the part. */
static void add(struct stock_part *part, const struct handed *from)
{
    struct part_entry *entry = &part->entries[part->entries_count++];

    snprintf(entry->id, sizeof entry->id, "%s", from->entry);
    entry->first = part->count;
    entry->count = from->count;
    entry->whole = true;
    for (int i = 0; i < from->count; i++) {
        struct claim *claim = &part->claims[part->count++];
        claim->order = from->orders[i];
        claim->fate = CLAIM_OPEN;
        claim->reason[0] = claim->generation[0] = '\0';
    }
}

bool stock_handover_take(struct stock_handover *handover, struct stock_part *part, int64_t until_us)
{
    part->fresh = true;
    part->count = part->entries_count = 0;
    pthread_mutex_lock(&handover->mutex);
    gather(handover, until_us);
    while (handover->first && part->entries_count < STREAM_ENTRIES &&
           part->count + handover->first->count <= WRITE_MAX) {
        struct handed *from = handover->first;
        add(part, from);
        handover->orders -= from->count;
        handover->first = from->next;
        if (!handover->first)
            handover->last = &handover->first;
        free(from);
    }
    pthread_mutex_unlock(&handover->mutex);
    return part->entries_count > 0;
}

static bool is_decided(const struct claim *claims, int count)
{
    int i = 0;

    while (i < count && claim_is_decided(&claims[i]))
        i++;
    return i == count;
}

void stock_handover_keep_undecided(struct stock_handover *handover, const struct stock_part *part)
{
    for (int i = 0; i < part->entries_count; i++) {
        const struct part_entry *entry = &part->entries[i];
        const struct claim *claims = &part->claims[entry->first];
        if (entry->count == 0)
            continue;
        if (is_decided(claims, entry->count))
            stock_kept_remove(&handover->kept, &claims->order.id);
        else
            stock_kept_add(&handover->kept, entry->id, &claims->order, sizeof *claims,
                           entry->count);
    }
}
