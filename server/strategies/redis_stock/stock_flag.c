/* See stock_flag.h: a direct-mapped table. */
#include "strategies/redis_stock/stock_flag.h"

#include "base/clock.h"

#include <pthread.h>
#include <string.h>

void stock_flag_init(struct stock_flag *flag)
{
    memset(flag, 0, sizeof *flag);
    pthread_mutex_init(&flag->mutex, NULL);
}

void stock_flag_fini(struct stock_flag *flag)
{
    pthread_mutex_destroy(&flag->mutex);
}

static struct stock_flag_slot *slot_of(struct stock_flag *flag, int64_t product_id)
{
    return &flag->slots[(uint64_t)product_id % STOCK_FLAG_SLOTS];
}

/* Holds the mutex. Another product in the slot is forgotten. */
static struct stock_flag_slot *take_slot(struct stock_flag *flag, int64_t product_id)
{
    struct stock_flag_slot *slot = slot_of(flag, product_id);

    if (slot->product_id != product_id)
        *slot = (struct stock_flag_slot){.product_id = product_id};
    return slot;
}

void stock_flag_note(struct stock_flag *flag, int64_t product_id, int64_t epoch, bool sold_out,
                     int64_t sent_us)
{
    pthread_mutex_lock(&flag->mutex);
    struct stock_flag_slot *slot = take_slot(flag, product_id);
    if (slot->epoch != epoch) /* it has made room for another meanwhile */
        slot->asked_us = 0;
    slot->epoch = epoch;
    slot->sold_out_until_us = sold_out ? sent_us + STOCK_LEASE_US : 0;
    pthread_mutex_unlock(&flag->mutex);
}

void stock_flag_learn(struct stock_flag *flag, int64_t product_id, int64_t epoch, int64_t asked_us)
{
    pthread_mutex_lock(&flag->mutex);
    struct stock_flag_slot *slot = take_slot(flag, product_id);
    if (asked_us > slot->asked_us) {
        slot->epoch = epoch;
        slot->asked_us = asked_us;
    }
    pthread_mutex_unlock(&flag->mutex);
}

int64_t stock_flag_epoch(struct stock_flag *flag, int64_t product_id)
{
    const struct stock_flag_slot *slot = slot_of(flag, product_id);

    pthread_mutex_lock(&flag->mutex);
    bool known = slot->product_id == product_id && slot->asked_us > flag->doubted_us;
    int64_t epoch = known ? slot->epoch : 0;
    pthread_mutex_unlock(&flag->mutex);
    return epoch;
}

void stock_flag_doubt(struct stock_flag *flag, int64_t since_us)
{
    pthread_mutex_lock(&flag->mutex);
    if (since_us > flag->doubted_us)
        flag->doubted_us = since_us;
    pthread_mutex_unlock(&flag->mutex);
}

void stock_flag_forget(struct stock_flag *flag, int64_t product_id)
{
    pthread_mutex_lock(&flag->mutex);
    take_slot(flag, product_id)->asked_us = 0;
    pthread_mutex_unlock(&flag->mutex);
}

bool stock_flag_refuses(struct stock_flag *flag, struct order *order)
{
    const struct stock_flag_slot *slot = slot_of(flag, order->product_id);

    if (order->kind != ORDER_BUY || order->key[0])
        return false;
    pthread_mutex_lock(&flag->mutex);
    bool sold_out =
        slot->product_id == order->product_id && order->arrived_us < slot->sold_out_until_us;
    pthread_mutex_unlock(&flag->mutex);
    if (sold_out)
        order->outcome = ORDER_SOLD_OUT;
    return sold_out;
}

void stock_flag_wait(void)
{
    clock_sleep_until(clock_mono_us() + STOCK_LEASE_US);
}
