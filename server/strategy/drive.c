#include "strategy/drive.h"

#include "base/clock.h"
#include "base/log.h"
#include "cache/redis.h"
#include "lock/renewer.h"
#include "metrics/metrics.h"
#include "strategy/outside.h"
#include "strategy/settle.h"

#include <stdio.h>

enum {
    CONNECT_PATIENCE_US = 2000000,
    RELEASE_PATIENCE_US = 1000000,
    ATTEMPTS_MAX = 200,
    BACKOFF_FIRST_US = 500,
    BACKOFF_MOST_US = 20000,
    STRATEGIES_MAX = 64
};

static struct strategy_metrics {
    int attempts;
    int batches;
    int overruns;
} metrics[STRATEGIES_MAX];

static int register_counter(const char *family, const char *help, const struct strategy *strategy)
{
    char labels[96];

    snprintf(labels, sizeof labels, "strategy=\"%s\"", strategy->name);
    return metrics_counter(family, help, labels);
}

void drive_init(void)
{
    for (size_t i = 0; i < strategy_count(); i++)
        metrics[i].attempts =
            register_counter("seckill_attempts_total",
                             "Attempts to decide an order, retries included.", strategy_at(i));
    for (size_t i = 0; i < strategy_count(); i++)
        metrics[i].batches = register_counter(
            "seckill_batches_total", "Batches of orders handed to a strategy.", strategy_at(i));
    for (size_t i = 0; i < strategy_count(); i++)
        metrics[i].overruns = register_counter(
            "seckill_lease_overruns_total",
            "Holds whose lease had lapsed when the lock was released.", strategy_at(i));
}

static struct strategy_metrics *metrics_of(const struct strategy *strategy)
{
    return &metrics[strategy_index(strategy)];
}

static bool connect_backends(struct session *session, const struct strategy *strategy)
{
    int64_t until_us = clock_mono_us() + CONNECT_PATIENCE_US;

    if (!pg_connect(session->pg, until_us)) {
        log_warn("%s: %s", strategy->name, pg_error(session->pg)->text);
        return false;
    }
    if ((strategy->needs & NEED_REDIS) && !redis_connect(session->redis, until_us)) {
        log_warn("%s: %s", strategy->name, redis_error(session->redis)->text);
        return false;
    }
    if ((strategy->needs & NEED_STOCK_REDIS) && !redis_connect(session->stock, until_us)) {
        log_warn("%s: %s", strategy->name, redis_error(session->stock)->text);
        return false;
    }
    return true;
}

static bool acquire(struct session *session, const struct strategy *strategy, struct order *first)
{
    struct lock_client client = {session->redis, session->services->renewer,
                                 session->services->settings};
    struct hold *hold = &session->hold;
    int64_t begun_us = clock_mono_us();
    enum lock_result result = strategy->lock->acquire(&client, first->product_id, first->no_wait,
                                                      first->wait_until_us, &hold->lease);

    first->lock_us = clock_mono_us() - begun_us;
    switch (result) {
    case LOCK_OWNED:
        hold->held = true;
        hold->abandoned = false;
        hold->fence = 0;
        hold->since_us = clock_mono_us();
        return true;
    case LOCK_BUSY:
        first->outcome = ORDER_LOCK_TIMEOUT;
        return false;
    case LOCK_UNKNOWN:
        log_warn("%s: %s", strategy->name, redis_error(session->redis)->text);
        break;
    }
    first->outcome = ORDER_BACKEND_UNAVAILABLE;
    return false;
}

bool drive_enter(struct session *session, const struct strategy *strategy, struct order *first)
{
    first->outcome = ORDER_PENDING;
    if (!connect_backends(session, strategy)) {
        first->outcome = ORDER_BACKEND_UNAVAILABLE;
        return false;
    }
    return !strategy->lock || acquire(session, strategy, first);
}

/* The next attempt's pause: full jitter under a bound that doubles (Brooker, "Exponential Backoff
 * And Jitter", AWS Architecture Blog, 2015). */
static int64_t backoff_us(unsigned attempts)
{
    int64_t most = BACKOFF_FIRST_US;

    for (unsigned i = 1; i < attempts && most < BACKOFF_MOST_US; i++)
        most *= 2;
    return (int64_t)random_below((uint64_t)(most < BACKOFF_MOST_US ? most : BACKOFF_MOST_US));
}

/* Whether an order that lost a race may try again; decides it when not. */
static bool may_retry(struct order *order, int64_t now_us)
{
    if (!order->no_wait && order->attempts < ATTEMPTS_MAX && now_us < order->wait_until_us)
        return true;
    order->outcome = ORDER_CAS_EXHAUSTED;
    return false;
}

/* Returns what is to be tried again and moves the rest to the list that ends at `*done_end`. */
static struct order *split(struct order *orders, int64_t begun_us, struct order ***done_end)
{
    struct order *again = NULL;
    struct order **again_end = &again;
    int64_t now_us = clock_mono_us();

    for (struct order *next; orders; orders = next) {
        next = orders->next;
        orders->next = NULL;
        if (orders->outcome == ORDER_RETRY && may_retry(orders, now_us)) {
            *again_end = orders;
            again_end = &orders->next;
        } else {
            orders->work_us = now_us - begun_us;
            **done_end = orders;
            *done_end = &orders->next;
        }
    }
    return again;
}

static void lease_was_lost(struct batch *batch)
{
    for (struct order *order = batch->orders; order; order = order->next)
        order->outcome = ORDER_LEASE_LOST;
}

static void attempt(struct session *session, const struct strategy *strategy, struct batch *batch)
{
    for (struct order *order = batch->orders; order; order = order->next) {
        order->outcome = ORDER_PENDING;
        order->attempts++;
        metrics_add(metrics_of(strategy)->attempts, 1);
    }
    session->work_until_us =
        clock_mono_us() + session->services->settings->work_timeout_ms * CLOCK_US_PER_MS;
    if (strategy->lock && !lease_holds(&session->hold.lease)) {
        lease_was_lost(batch);
        return;
    }
    if (!pg_connect(session->pg, session->work_until_us)) {
        for (struct order *order = batch->orders; order; order = order->next)
            order->outcome = ORDER_BACKEND_UNAVAILABLE;
        return;
    }
    strategy->sell(session, batch);
    if (!settle_batch(session, batch))
        session->hold.abandoned = true;
    outside_stock_added(session, strategy, batch->orders);
}

void drive_sell(struct session *session, const struct strategy *strategy, struct batch *batch)
{
    struct order *done = NULL;
    struct order **done_end = &done;
    int64_t begun_us = clock_mono_us();

    metrics_add(metrics_of(strategy)->batches, 1);
    for (struct batch left = *batch; left.orders;) {
        attempt(session, strategy, &left);
        left.orders = split(left.orders, begun_us, &done_end);
        if (left.orders)
            clock_sleep_until(clock_mono_us() + backoff_us(left.orders->attempts));
    }
    batch->orders = done;
}

bool drive_keeps(const struct session *session, const struct strategy *strategy)
{
    const struct hold *hold = &session->hold;

    return hold->held && !hold->abandoned && lease_holds(&hold->lease) &&
           clock_mono_us() - hold->since_us < strategy->lane.hold_us;
}

void drive_leave(struct session *session, const struct strategy *strategy)
{
    struct lock_client client = {session->redis, session->services->renewer,
                                 session->services->settings};
    struct hold *hold = &session->hold;

    if (!hold->held)
        return;
    hold->held = false;
    if (hold->abandoned) {
        renewer_forget(session->services->renewer, &hold->lease);
        return;
    }
    switch (strategy->lock->release(&client, &hold->lease, clock_mono_us() + RELEASE_PATIENCE_US)) {
    case LOCK_RELEASED:
        break;
    case LOCK_NOT_OWNER:
        metrics_add(metrics_of(strategy)->overruns, 1);
        log_warn("%s: the lease on product %lld had lapsed before its release", strategy->name,
                 (long long)hold->lease.key);
        break;
    case LOCK_RELEASE_UNKNOWN:
        log_warn("%s: the release was lost, the lease ends it: %s", strategy->name,
                 redis_error(session->redis)->text);
        break;
    }
}
