/* One table under one mutex, which is held for a few loads or stores and for no I/O. */
#include "strategy/stock_flag.h"

#include "base/clock.h"

#include <pthread.h>
#include <string.h>

enum { SLOTS = 4096 };

static struct {
    pthread_mutex_t mutex;
    struct slot {
        int64_t product_id;
        int64_t epoch;
        int64_t sold_out_until_us;
    } slots[SLOTS];
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct slot *slot_of(int64_t product_id)
{
    return &table.slots[(uint64_t)product_id % SLOTS];
}

void stock_flag_note(int64_t product_id, int64_t epoch, bool sold_out, int64_t sent_us)
{
    struct slot *slot = slot_of(product_id);

    pthread_mutex_lock(&table.mutex);
    *slot = (struct slot){.product_id = product_id,
                          .epoch = epoch,
                          .sold_out_until_us = sold_out ? sent_us + STOCK_LEASE_US : 0};
    pthread_mutex_unlock(&table.mutex);
}

int64_t stock_flag_epoch(int64_t product_id)
{
    const struct slot *slot = slot_of(product_id);

    pthread_mutex_lock(&table.mutex);
    int64_t epoch = slot->product_id == product_id ? slot->epoch : 0;
    pthread_mutex_unlock(&table.mutex);
    return epoch;
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
    pthread_mutex_unlock(&table.mutex);
}
