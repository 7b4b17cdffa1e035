/* One table under one mutex, which is held for a few loads or stores and for no I/O. */
#include "strategies/redis_stock/stock_flag.h"

#include "base/clock.h"

#include <pthread.h>
#include <string.h>

enum { SLOTS = 4096 };

static struct {
    pthread_mutex_t mutex;
    int64_t doubted_us;
    struct slot {
        int64_t product_id;
        int64_t epoch;
        int64_t asked_us;
        int64_t sold_out_until_us;
    } slots[SLOTS];
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct slot *slot_of(int64_t product_id)
{
    return &table.slots[(uint64_t)product_id % SLOTS];
}

/* Holds the mutex. Whoever had the slot is forgotten. */
static struct slot *take_slot(int64_t product_id)
{
    struct slot *slot = slot_of(product_id);

    if (slot->product_id != product_id)
        *slot = (struct slot){.product_id = product_id};
    return slot;
}

void stock_flag_note(int64_t product_id, int64_t epoch, bool sold_out, int64_t sent_us)
{
    pthread_mutex_lock(&table.mutex);
    struct slot *slot = take_slot(product_id);
    if (slot->epoch != epoch) /* it has made room for another meanwhile */
        slot->asked_us = 0;
    slot->epoch = epoch;
    slot->sold_out_until_us = sold_out ? sent_us + STOCK_LEASE_US : 0;
    pthread_mutex_unlock(&table.mutex);
}

void stock_flag_learn(int64_t product_id, int64_t epoch, int64_t asked_us)
{
    pthread_mutex_lock(&table.mutex);
    struct slot *slot = take_slot(product_id);
    if (asked_us > slot->asked_us) {
        slot->epoch = epoch;
        slot->asked_us = asked_us;
    }
    pthread_mutex_unlock(&table.mutex);
}

int64_t stock_flag_epoch(int64_t product_id)
{
    const struct slot *slot = slot_of(product_id);

    pthread_mutex_lock(&table.mutex);
    bool known = slot->product_id == product_id && slot->asked_us > table.doubted_us;
    int64_t epoch = known ? slot->epoch : 0;
    pthread_mutex_unlock(&table.mutex);
    return epoch;
}

void stock_flag_doubt(int64_t since_us)
{
    pthread_mutex_lock(&table.mutex);
    if (since_us > table.doubted_us)
        table.doubted_us = since_us;
    pthread_mutex_unlock(&table.mutex);
}

void stock_flag_forget(int64_t product_id)
{
    pthread_mutex_lock(&table.mutex);
    take_slot(product_id)->asked_us = 0;
    pthread_mutex_unlock(&table.mutex);
}

bool stock_flag_refuses(struct order *order)
{
    const struct slot *slot = slot_of(order->product_id);

    if (order->kind != ORDER_BUY || order->key[0])
        return false;
    pthread_mutex_lock(&table.mutex);
    bool sold_out =
        slot->product_id == order->product_id && order->arrived_us < slot->sold_out_until_us;
    pthread_mutex_unlock(&table.mutex);
    if (sold_out)
        order->outcome = ORDER_SOLD_OUT;
    return sold_out;
}

void stock_flag_wait(void)
{
    clock_sleep_until(clock_mono_us() + STOCK_LEASE_US);
}

void stock_flag_reset(void)
{
    pthread_mutex_lock(&table.mutex);
    memset(table.slots, 0, sizeof table.slots);
    table.doubted_us = 0;
    pthread_mutex_unlock(&table.mutex);
}
