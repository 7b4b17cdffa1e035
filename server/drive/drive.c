/*
 * The happy path is drive_enter (connect what the strategy needs, acquire its lock), drive_sell
 * (attempt, settle, say what is to be tried again, park what still needs a flush) and drive_leave
 * (release). A backend that cannot be connected, a lock that is busy too long and a lease that was
 * lost each end the orders with an outcome of their own, without a word from the strategy.
 */
#include "drive/drive.h"
#include "drive/early_release.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "lock/renewer.h"
#include "metrics/metrics.h"
#include "redis/redis.h"
#include "sale/purchase.h"
#include "sale/settle.h"
#include "sale/turns.h"
#include "strategies/strategies.h"
#include "strategy/external_state.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    CONNECT_SHORTEST_US = 2000000,
    CONNECT_LONGEST_US = 5000000,
    RELEASE_TIMEOUT_US = 1000000,
    ATTEMPTS_MAX = 200,
    /* The longest wait for one lock; then the order goes back to its lane and comes again. */
    LOCK_MOST_MS = 500
};

struct drive {
    struct metrics *metrics; /* borrowed: app */
    struct drive_counters {
        int group;
        struct metric attempts;
        struct metric batches;
        struct metric overruns;
    } of[]; /* each strategy, by its index */
};

static struct metric register_counter(const struct drive *drive, size_t i, const char *family,
                                      const char *help)
{
    char labels[96];

    snprintf(labels, sizeof labels, "strategy=\"%s\"", strategy_at(i)->name);
    return metrics_counter(drive->metrics, drive->of[i].group, family, help, labels);
}

struct drive *drive_create(struct metrics *metrics)
{
    size_t count = strategy_total();
    struct drive *drive = calloc(1, sizeof *drive + count * sizeof *drive->of);

    if (!drive)
        return NULL;
    drive->metrics = metrics;
    for (size_t i = 0; i < count; i++)
        drive->of[i].group = metrics_group(metrics);
    for (size_t i = 0; i < count; i++)
        drive->of[i].attempts = register_counter(drive, i, "seckill_attempts_total",
                                                 "Attempts to decide an order, retries included.");
    for (size_t i = 0; i < count; i++)
        drive->of[i].batches = register_counter(drive, i, "seckill_batches_total",
                                                "Batches of orders handed to a strategy.");
    for (size_t i = 0; i < count; i++)
        drive->of[i].overruns =
            register_counter(drive, i, "seckill_lease_overruns_total",
                             "Holds whose lease had lapsed when the lock was released.");
    return drive;
}

void drive_destroy(struct drive *drive)
{
    free(drive);
}

/* As long as the order may wait, within bounds: PostgreSQL opens many sessions at once slowly. */
static int64_t connect_until(const struct order *first)
{
    int64_t now_us = clock_mono_us();
    int64_t until_us = clock_earlier(first->wait_until_us, now_us + CONNECT_LONGEST_US);

    return until_us > now_us + CONNECT_SHORTEST_US ? until_us : now_us + CONNECT_SHORTEST_US;
}

static bool connect_backends(struct session *session, const struct strategy *strategy,
                             const struct order *first)
{
    struct error error;
    bool connected = session_connect(session, strategy->needs, connect_until(first), &error);

    if (!connected && error.code != ERROR_NONE)
        log_warn("%s: %s", strategy->name, error.text);
    return connected;
}

static void cancel_work(void *context)
{
    pg_interrupt(context);
}

static const char *lock_error(const struct session *session, const struct strategy *strategy)
{
    if (strategy->lock->why) {
        struct lock_client client = session_lock_client(session);
        /* The text is the lock's, not the client's. */
        /* cppcheck-suppress returnDanglingLifetime */
        return strategy->lock->why(&client);
    }
    return strategy->needs & NEED_REDIS ? redis_error(session->redis)->text
                                        : pg_error(session->pg)->text;
}

static bool acquire(struct session *session, const struct strategy *strategy, struct order *first)
{
    struct lock_client client = session_lock_client(session);
    struct hold *hold = &session->hold;
    int64_t begun_us = clock_mono_us();

    hold->lease.on_lost = cancel_work;
    hold->lease.on_lost_context = session->pg;
    enum lock_result result = lock_acquire(strategy->lock, &client, first->product_id,
                                           first->no_wait, first->wait_until_us, &hold->lease);

    first->lock_us = clock_mono_us() - begun_us;
    switch (result) {
    case LOCK_OWNED:
        hold->held = true;
        hold->since_us = clock_mono_us();
        FAILPOINT("lock.acquired");
        return true;
    case LOCK_BUSY:
        first->outcome = ORDER_LOCK_TIMEOUT;
        return false;
    case LOCK_UNKNOWN:
        log_warn("%s: %s", strategy->name, lock_error(session, strategy));
        break;
    }
    first->outcome = ORDER_BACKEND_UNAVAILABLE;
    return false;
}

/* A statement may wait for two locks in turn, within the time for its work. */
static int64_t lock_most_ms(const struct session *session)
{
    int64_t most_ms = session->services->settings->work_timeout_ms / 2;

    return most_ms < LOCK_MOST_MS ? most_ms : LOCK_MOST_MS;
}

bool drive_enter(struct session *session, const struct strategy *strategy, struct order *first)
{
    first->outcome = ORDER_PENDING;
    session->lock_most_ms = lock_most_ms(session);
    purchase_may_wait(session, first);
    session->cost_outcome = COST_OTHER;
    /* The last hold may have been another strategy's. */
    session->hold.held = session->hold.abandoned = false;
    session->hold.fence = 0;
    if (strategy->lock && first->waited) /* it stands aside for those who want the lock, too */
        clock_sleep_until(clock_mono_us() + random_backoff_us(first->attempts));
    bool entered = connect_backends(session, strategy, first);
    if (!entered)
        first->outcome = ORDER_BACKEND_UNAVAILABLE;
    else if (strategy->lock)
        entered = acquire(session, strategy, first);
    if (!entered)
        cost_charge(session->services, strategy, COST_OTHER, 1);
    return entered;
}

/* Whether an order that lost a race may try again; decides it when not. */
static bool may_retry(struct order *order, int64_t now_us)
{
    bool waits = order->if_not_done == ORDER_LOCK_TIMEOUT; /* it has lost no race */

    if (!order->no_wait && (waits || order->attempts < ATTEMPTS_MAX) &&
        now_us < order->wait_until_us)
        return true;
    order->outcome = order->if_not_done;
    return false;
}

/* The batch's time ended before this order began: the order comes with the next batch, unless its
 * own wait is over. */
static bool comes_later(struct order *order, int64_t now_us)
{
    if (order->outcome != ORDER_PENDING)
        return false;
    order->queue_us = now_us - order->arrived_us - order->work_us;
    order->attempts--;
    if (order->no_wait || now_us < order->wait_until_us)
        return true;
    order->outcome = ORDER_QUEUE_TIMEOUT;
    return false;
}

/* Returns what is to be tried again, or was not begun, and leaves the rest in the batch. */
static struct order *split_batch(struct batch *batch, int64_t begun_us)
{
    struct order *orders = batch->orders;
    struct order **done_end = &batch->orders;
    struct order *again = NULL;
    struct order **again_end = &again;
    int64_t now_us = clock_mono_us();

    for (struct order *next; orders; orders = next) {
        next = orders->next;
        orders->next = NULL;
        bool again_soon = comes_later(orders, now_us);
        if (!again_soon) {
            orders->work_us += now_us - begun_us;
            again_soon = orders->outcome == ORDER_RETRY && may_retry(orders, now_us);
        }
        if (again_soon) {
            *again_end = orders;
            again_end = &orders->next;
        } else {
            *done_end = orders;
            done_end = &orders->next;
        }
    }
    *done_end = NULL;
    return again;
}

static void lease_was_lost(struct batch *batch)
{
    for (struct order *order = batch->orders; order; order = order->next)
        order->outcome = ORDER_LEASE_LOST;
}

/* When the lease was lost, cancel_work cancelled the running statement, which PostgreSQL reports as
 * a failure: BACKEND_UNAVAILABLE becomes LEASE_LOST. */
static void blame_lost_lease(const struct session *session, struct batch *batch)
{
    if (!session_lease_lost(session))
        return;
    for (struct order *order = batch->orders; order; order = order->next)
        if (order->outcome == ORDER_BACKEND_UNAVAILABLE)
            order->outcome = ORDER_LEASE_LOST;
}

static void call_strategy(struct session *session, const struct strategy *strategy,
                          struct batch *batch)
{
    session->instance = strategy_instance(session->services, strategy);
    pg_commit_early(session->pg, session->early.marked);
    (strategy->sell ? strategy->sell : purchase_each)(session, batch);
    pg_commit_early(session->pg, false);
}

static void announce_stock(struct session *session, const struct strategy *strategy,
                           const struct batch *batch)
{
    struct external_state_gains gains;

    gains.count = 0;
    for (const struct order *order = batch->orders; order; order = order->next)
        external_state_note_gain(&gains, order->product_id, order->kind, order->outcome);
    external_state_stock_added(session, strategy, &gains);
}

/* A lost commit may be looked into for longer than the lease lasts. After that a release by bare
 * DEL would free the next holder's lock, so the lock is abandoned. */
static void settle(struct session *session, const struct strategy *strategy, struct batch *batch)
{
    bool lost = false;

    for (const struct order *order = batch->orders; order; order = order->next)
        lost |= order->outcome == ORDER_UNSETTLED;
    if (!settle_batch(session, batch) ||
        (lost && strategy->lock && !lease_holds(&session->hold.lease)))
        session->hold.abandoned = true;
}

/* ?stall=true: the session stands still until its lease has been over for --stall-ms, as a stopped
 * process does: nothing renews the lease. In two parts, before the work and within it, for the
 * holder looks at its clock between them and PostgreSQL ends a transaction that is idle for too
 * long. Without a lock it stands for as long as with one. */
static void stall(struct session *session)
{
    const struct settings *settings = session->services->settings;
    struct lease *lease = &session->hold.lease;
    int64_t stall_us = settings->stall_ms * CLOCK_US_PER_MS;
    int64_t over_us = clock_mono_us() + settings->lock_ttl_ms * CLOCK_US_PER_MS;

    if (session->hold.held) {
        if (session->services->renewer)
            renewer_forget(session->services->renewer, lease);
        over_us = clock_earlier(over_us, atomic_load(&lease->valid_until_us));
    }
    clock_sleep_until(over_us - stall_us);
    session->stall_until_us = over_us + stall_us;
}

static void drive_attempt(struct session *session, const struct strategy *strategy,
                          struct batch *batch)
{
    bool stalls = false;

    for (struct order *order = batch->orders; order; order = order->next) {
        stalls |= order->stall && order->attempts == 0;
        order->outcome = ORDER_PENDING;
        order->if_not_done = ORDER_CAS_EXHAUSTED;
        order->early = false;
        order->seen.version = 0;
        order->hold_until_us = 0;
        order->attempts++;
    }
    session->early = (struct early){0};
    session->stall_until_us = 0;
    if (stalls)
        stall(session);
    if (FAILPOINT_FAILS("drive.denied")) {
        for (struct order *order = batch->orders; order; order = order->next)
            order->outcome = ORDER_SOLD_OUT;
        return;
    }
    session_begin_work(session);
    purchase_may_wait(session, batch->orders);
    if (strategy->lock && !lease_holds(&session->hold.lease)) {
        lease_was_lost(batch);
        return;
    }
    /* A lease that nobody renews may have little left on a later attempt. The first attempt is not
     * bounded by it: its time is shorter than a lease anyway, and the stall fault (docs/FAULTS.md)
     * needs holders that outstay theirs. */
    if (strategy->lock && batch->orders->attempts > 1 &&
        session->work_until_us > atomic_load(&session->hold.lease.valid_until_us))
        session->work_until_us = atomic_load(&session->hold.lease.valid_until_us);
    if (!early_release_connect(session, batch)) {
        for (struct order *order = batch->orders; order; order = order->next)
            order->outcome = ORDER_BACKEND_UNAVAILABLE;
        return;
    }
    call_strategy(session, strategy, batch);
    blame_lost_lease(session, batch);
    settle(session, strategy, batch);
    announce_stock(session, strategy, batch);
}

static int count_buys(const struct batch *batch)
{
    int count = 0;

    for (const struct order *order = batch->orders; order; order = order->next)
        count += order->kind == ORDER_BUY;
    return count;
}

static int count_pending(const struct batch *batch)
{
    int count = 0;

    for (const struct order *order = batch->orders; order; order = order->next)
        count += order->outcome == ORDER_PENDING;
    return count;
}

/* Charges the batch's costs. Of its `buys`, those that are missing now were parked: they are
 * accepted, and decided later. */
static void charge_batch(struct session *session, const struct strategy *strategy,
                         const struct batch *batch, int buys)
{
    struct cost_outcomes count = {.ends[COST_ACCEPTED] = buys - count_buys(batch)};

    for (const struct order *order = batch->orders; order; order = order->next)
        if (order->kind == ORDER_BUY && order->outcome != ORDER_PENDING)
            cost_count_buy(&count, order->outcome);
    session->cost_outcome = cost_charge_outcomes(session->services, strategy, &count);
}

struct order *drive_sell(const struct drive *drive, struct session *session,
                         const struct strategy *strategy, struct batch *batch)
{
    int64_t begun_us = clock_mono_us();
    int buys = count_buys(batch);
    int orders = batch->count;

    if (batch->orders->attempts == 0)
        metrics_add(drive->of[strategy_index(strategy)].batches, 1);
    else if (batch->orders->if_not_done != ORDER_LOCK_TIMEOUT) /* that has been a wait */
        clock_sleep_until(begun_us + random_backoff_us(batch->orders->attempts));
    drive_attempt(session, strategy, batch);
    metrics_add(drive->of[strategy_index(strategy)].attempts,
                (uint64_t)(orders - count_pending(batch)));
    charge_batch(session, strategy, batch, buys);
    struct order *again = split_batch(batch, begun_us);
    early_release_park(session, batch);
    return again;
}

bool drive_keeps(const struct session *session, const struct strategy *strategy)
{
    const struct hold *hold = &session->hold;

    return hold->held && !hold->abandoned && lease_holds(&hold->lease) &&
           clock_mono_us() - hold->since_us < strategy->lane.hold_us;
}

static void release(const struct drive *drive, struct session *session,
                    const struct strategy *strategy)
{
    struct lock_client client = session_lock_client(session);
    struct hold *hold = &session->hold;

    FAILPOINT("lock.releasing");
    hold->held = false;
    if (hold->abandoned) {
        if (session->services->renewer)
            renewer_forget(session->services->renewer, &hold->lease);
        if (strategy->lock->abandon)
            strategy->lock->abandon(&client, &hold->lease);
        return;
    }
    switch (strategy->lock->release(&client, &hold->lease, clock_mono_us() + RELEASE_TIMEOUT_US)) {
    case LOCK_RELEASED:
        break;
    case LOCK_NOT_OWNER:
        metrics_add(drive->of[strategy_index(strategy)].overruns, 1);
        log_warn("%s: the lease on product %lld had lapsed before its release", strategy->name,
                 (long long)hold->lease.key);
        break;
    case LOCK_RELEASE_UNKNOWN:
        log_warn("%s: the release was lost, the lease ends it: %s", strategy->name,
                 lock_error(session, strategy));
        break;
    }
}

void drive_leave(const struct drive *drive, struct session *session,
                 const struct strategy *strategy)
{
    if (!session->hold.held)
        return;
    release(drive, session, strategy);
    cost_charge(session->services, strategy, session->cost_outcome, 0);
}
