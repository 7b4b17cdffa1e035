/*
 * Lanes, workers, tasks and the janitor, put together.
 *
 * Happy path: dispatch_submit puts each order into its strategy's lane; a worker decides it;
 * the completion gives it back to the edge.
 *
 * Failure modes:
 * - A strategy knows without a lane that the order is refused: it is given back at once.
 * - The lane is full, or the server stops: given back at once.
 * - An order or a task waits too long: the janitor takes it out every few milliseconds, because all
 *   workers may be busy with something slow. So a wait_timeout comes at its deadline, not when a
 *   worker has time.
 */
#include "dispatch/dispatch.h"

#include "base/clock.h"
#include "base/log.h"
#include "dispatch/background.h"
#include "dispatch/lane.h"
#include "dispatch/sweeper.h"
#include "dispatch/tasks.h"
#include "dispatch/worker.h"
#include "drive/drive.h"
#include "metrics/metrics.h"
#include "postgres/pg.h"
#include "sale/flusher.h"
#include "strategies/strategies.h"
#include "strategy/cost_accounting.h"
#include "strategy/parking.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { JANITOR_US = 20000, BACKGROUND_SESSIONS = 1, SESSION_POOLS = 2 };

struct order_metrics {
    int group;
    int buys; /* a group, too */
    struct metric outcomes[ORDER_KIND_COUNT][ORDER_OUTCOME_COUNT];
    struct metric queue;
    struct metric lock;
    struct metric work;
};

struct dispatch {
    const struct services *services; /* borrowed: app */
    struct completion completion;
    struct worker_lane *lanes;            /* owned; of each strategy, by its index */
    struct order_metrics *counters;       /* owned; the same */
    size_t count;                         /* of lanes */
    struct workers *workers;              /* owned */
    struct tasks *tasks[TASK_KIND_COUNT]; /* owned */
    struct background *background;        /* owned */
    struct sweeper *sweeper;              /* owned */
    struct metric pending;                /* a counter, as these are */
    struct metric payments[ORDER_OUTCOME_COUNT];
    _Atomic int64_t orders_in_flight;
    _Atomic int64_t tasks_in_flight;
    atomic_bool draining;
    atomic_bool sweeping; /* the strategies have started */
    pthread_t janitor;
    bool janitor_started;
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        bool stopping;
    } shared;
};

static bool is_final(enum order_outcome outcome)
{
    return outcome >= ORDER_CONFIRMED;
}

/* All outcomes of buys are shown from the start; an outcome of cancels or restocks, which mostly
 * end in one way, from its first time on. */
static void register_order_metrics(struct dispatch *dispatch)
{
    struct metrics *metrics = dispatch->services->metrics;
    struct order_metrics *to = dispatch->counters;
    char labels[128];

    for (size_t i = 0; i < strategy_total(); i++) {
        to[i].group = metrics_group(metrics);
        to[i].buys = metrics_group(metrics);
    }
    for (size_t i = 0; i < strategy_total(); i++)
        for (int kind = 0; kind < ORDER_KIND_COUNT; kind++)
            for (int outcome = 0; outcome < ORDER_OUTCOME_COUNT; outcome++) {
                if (!is_final((enum order_outcome)outcome))
                    continue;
                snprintf(labels, sizeof labels, "strategy=\"%s\",kind=\"%s\",outcome=\"%s\"",
                         strategy_at(i)->name, order_kind_name((enum order_kind)kind),
                         order_outcome_row((enum order_outcome)outcome)->name);
                to[i].outcomes[kind][outcome] = metrics_counter(
                    metrics, kind == ORDER_BUY ? to[i].buys : metrics_group(metrics),
                    "seckill_orders_total", "Orders answered, by what became of them.", labels);
            }
    for (size_t i = 0; i < strategy_total(); i++) {
        struct metric *const ids[] = {&to[i].queue, &to[i].lock, &to[i].work};
        const char *const phases[] = {"queue", "lock", "work"};
        for (size_t phase = 0; phase < sizeof ids / sizeof *ids; phase++) {
            if (ids[phase] == &to[i].lock && !strategy_at(i)->lock)
                continue;
            snprintf(labels, sizeof labels, "strategy=\"%s\",phase=\"%s\"", strategy_at(i)->name,
                     phases[phase]);
            *ids[phase] =
                metrics_histogram(metrics, to[i].group, "seckill_order_seconds",
                                  "What orders spent in the lane, on the lock, at work.", labels);
        }
    }
}

static void register_holds(struct dispatch *dispatch)
{
    static const enum order_outcome answers[] = {ORDER_CONFIRMED, ORDER_EXPIRED, ORDER_NOT_PAYABLE};
    struct metrics *metrics = dispatch->services->metrics;
    char labels[64];

    dispatch->pending = metrics_counter(metrics, METRICS_ALWAYS, "seckill_orders_pending_total",
                                        "Orders that were answered as pending, to be paid.", "");
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        snprintf(labels, sizeof labels, "outcome=\"%s\"", order_outcome_row(answers[i])->name);
        dispatch->payments[answers[i]] =
            metrics_counter(metrics, METRICS_ALWAYS, "seckill_payments_total",
                            "Payments answered, by what the order was then.", labels);
    }
}

static int64_t read_orders_in_flight(void *context)
{
    struct dispatch *dispatch = context;

    return atomic_load(&dispatch->orders_in_flight);
}

static int64_t read_waiting(void *context)
{
    return lane_counts(context).waiting;
}

static int64_t read_workers(void *context)
{
    return lane_counts(context).workers;
}

static int64_t read_sessions(void *context)
{
    const struct dispatch *dispatch = context;

    return store_sessions(services_store(dispatch->services));
}

static int64_t read_sessions_limit(void *context)
{
    const struct dispatch *dispatch = context;

    return dispatch->services->settings->pg_sessions;
}

static int64_t read_snapshot_us(void *context)
{
    const struct dispatch *dispatch = context;

    return store_snapshot_us(services_store(dispatch->services));
}

static void register_gauges(struct dispatch *dispatch)
{
    char labels[96];

    metrics_gauge(dispatch->services->metrics, METRICS_ALWAYS, "seckill_postgresql_sessions",
                  "Sessions with PostgreSQL that are open, or being opened.", "", read_sessions,
                  dispatch);
    metrics_gauge(dispatch->services->metrics, METRICS_ALWAYS, "seckill_postgresql_sessions_limit",
                  "Sessions with PostgreSQL that may be open: --pg-sessions.", "",
                  read_sessions_limit, dispatch);
    metrics_reading(dispatch->services->metrics, METRICS_GAUGE, METRICS_MICROSECONDS,
                    "seckill_postgresql_snapshot_seconds",
                    "For how long the oldest snapshot in the database has kept dead rows.",
                    read_snapshot_us, dispatch);

    metrics_gauge(dispatch->services->metrics, METRICS_ALWAYS, "seckill_orders_in_flight",
                  "Orders accepted and not answered.", "", read_orders_in_flight, dispatch);
    for (size_t i = 0; i < dispatch->count; i++) {
        snprintf(labels, sizeof labels, "strategy=\"%s\"", dispatch->lanes[i].strategy->name);
        metrics_gauge(dispatch->services->metrics, dispatch->counters[i].group,
                      "seckill_lane_waiting", "Orders waiting in the lane.", labels, read_waiting,
                      dispatch->lanes[i].lane);
    }
    for (size_t i = 0; i < dispatch->count; i++) {
        snprintf(labels, sizeof labels, "strategy=\"%s\"", dispatch->lanes[i].strategy->name);
        metrics_gauge(dispatch->services->metrics, dispatch->counters[i].group,
                      "seckill_lane_workers", "Threads that serve the lane.", labels, read_workers,
                      dispatch->lanes[i].lane);
    }
}

static void count_order(const struct dispatch *dispatch, const struct order *order)
{
    const struct order_metrics *ids = &dispatch->counters[strategy_index(order->strategy)];

    if (order->outcome == ORDER_CONFIRMED && order->record.status == STATUS_PENDING)
        metrics_add(dispatch->pending, 1);

    metrics_add(ids->outcomes[order->kind][order->outcome], 1);
    metrics_observe(ids->queue, order->queue_us);
    if (order->strategy->lock)
        metrics_observe(ids->lock, order->lock_us);
    metrics_observe(ids->work, order->work_us);
}

/* Every decided order goes through here, once. It is counted out before it is handed back: the
 * edge, which the hand-over wakes, looks at the count to see whether its drain is over, and nothing
 * would wake it again. */
static void complete(void *context, struct order *list)
{
    struct dispatch *dispatch = context;
    int64_t n = 0;

    if (!list)
        return;
    for (struct order *order = list; order; order = order->next) {
        count_order(dispatch, order);
        n++;
    }
    list = sweeper_take_back(dispatch->sweeper, list);
    atomic_fetch_sub(&dispatch->orders_in_flight, n);
    if (list)
        dispatch->completion.orders(dispatch->completion.context, list);
}

static void complete_task(void *context, struct task *task)
{
    struct dispatch *dispatch = context;

    atomic_fetch_sub(&dispatch->tasks_in_flight, 1);
    dispatch->completion.task(dispatch->completion.context, task);
}

/* A thread was refused a session: wakes the idle threads that have one, which may close theirs. */
static void ask_for_room(struct dispatch *dispatch)
{
    if (!store_wants_room(services_store(dispatch->services)))
        return;
    for (int kind = 0; kind < TASK_KIND_COUNT; kind++)
        tasks_wake(dispatch->tasks[kind]);
    for (size_t i = 0; i < dispatch->count; i++)
        lane_wake(dispatch->lanes[i].lane, false);
}

static void *janitor_main(void *argument)
{
    struct dispatch *dispatch = argument;

    pthread_mutex_lock(&dispatch->shared.mutex);
    while (!dispatch->shared.stopping) {
        struct timespec wake = clock_timespec(clock_mono_us() + JANITOR_US);
        pthread_cond_timedwait(&dispatch->shared.changed, &dispatch->shared.mutex, &wake);
        pthread_mutex_unlock(&dispatch->shared.mutex);
        parking_expire(dispatch->services->parking, clock_mono_us());
        ask_for_room(dispatch);
        for (int kind = 0; kind < TASK_KIND_COUNT; kind++)
            tasks_expire(dispatch->tasks[kind], clock_mono_us());
        for (size_t i = 0; i < dispatch->count; i++) {
            if (lane_counts(dispatch->lanes[i].lane).waiting == 0)
                continue;
            struct order *late = lane_expire(dispatch->lanes[i].lane, clock_mono_us());
            for (struct order *order = late; order; order = order->next)
                order->queue_us = clock_mono_us() - order->arrived_us - order->work_us;
            complete(dispatch, late);
            workers_call(dispatch->workers, i);
        }
        pthread_mutex_lock(&dispatch->shared.mutex);
    }
    pthread_mutex_unlock(&dispatch->shared.mutex);
    return NULL;
}

static int streams_of(const struct strategy *strategy, const struct settings *settings)
{
    return strategy->lane.streamed ? (int)settings->stock_streams : 1;
}

/* The strategy's rule, as the flags have changed it. */
static struct lane_rule rule_of(const struct strategy *strategy, const struct settings *settings)
{
    struct lane_rule rule = strategy->lane;

    if (settings->in_flight_per_product > 0 && rule.in_flight_per_product > 0 && !rule.keyed)
        rule.in_flight_per_product = (int)settings->in_flight_per_product;
    if (settings->max_batch < rule.max_batch)
        rule.max_batch = (int)settings->max_batch;
    rule.workers *= streams_of(strategy, settings);
    return rule;
}

static bool create_lanes(struct dispatch *dispatch)
{
    const struct settings *settings = dispatch->services->settings;

    for (size_t i = 0; i < strategy_total(); i++) {
        struct worker_lane *at = &dispatch->lanes[i];
        struct lane_rule rule = rule_of(strategy_at(i), settings);
        at->strategy = strategy_at(i);
        at->max_batch = rule.max_batch;
        at->lane = lane_create(&rule, (int)settings->queue_capacity);
        if (!at->lane)
            return false;
        dispatch->count++;
    }
    return true;
}

static bool is_busy(void *context)
{
    return read_orders_in_flight(context) > 0;
}

static void submit(void *context, struct order *list)
{
    dispatch_submit(context, list);
}

static bool sweep(void *context, struct pg *pg)
{
    struct dispatch *dispatch = context;

    return atomic_load(&dispatch->sweeping) && !atomic_load(&dispatch->draining) &&
           sweeper_sweep(dispatch->sweeper, pg);
}

/* How many sessions the strategies' own consumers have, which belong to no lane. */
static int consumers_sessions(const struct services *services)
{
    int sessions = 0;

    for (size_t i = 0; i < strategy_count(); i++)
        if (!strategy_unavailable_reason(strategy_at(i), services))
            sessions += strategy_at(i)->sessions * streams_of(strategy_at(i), services->settings);
    return sessions;
}

static bool start_tasks(struct dispatch *dispatch, int threads)
{
    for (int kind = 0; kind < TASK_KIND_COUNT; kind++) {
        bool sessions = kind != TASK_METRICS;
        dispatch->tasks[kind] = tasks_create(sessions ? services_store(dispatch->services) : NULL,
                                             sessions ? threads : 1, complete_task, dispatch);
        if (!dispatch->tasks[kind])
            return false;
    }
    return true;
}

/* How many workers may have a session: one at least, for else nothing would be sold. */
static int count_permits(const struct services *services, int threads)
{
    int sessions = (int)services->settings->pg_sessions;
    int others = consumers_sessions(services) + SESSION_POOLS * threads + BACKGROUND_SESSIONS +
                 (services->flusher != NULL);

    if (sessions > others)
        return sessions - others;
    log_warn("--pg-sessions %d: other threads than workers have %d, so up to %d are opened",
             sessions, others, others + 1);
    return 1;
}

static bool start_threads(struct dispatch *dispatch)
{
    const struct services *services = dispatch->services;
    int threads = tasks_threads(services->settings->pg_sessions);

    dispatch->workers = workers_create(services, dispatch->lanes, dispatch->count,
                                       count_permits(services, threads), complete, dispatch);
    dispatch->background =
        background_create(services, &(struct background_calls){is_busy, sweep, dispatch});
    dispatch->janitor_started =
        dispatch->workers && start_tasks(dispatch, threads) && dispatch->background &&
        flusher_start(services->flusher, complete, dispatch) &&
        pthread_create(&dispatch->janitor, NULL, janitor_main, dispatch) == 0;
    return dispatch->janitor_started;
}

struct dispatch *dispatch_create(const struct services *services, struct completion completion,
                                 struct error *error)
{
    struct dispatch *dispatch = calloc(1, sizeof *dispatch);

    if (!dispatch) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    dispatch->services = services;
    dispatch->completion = completion;
    pthread_mutex_init(&dispatch->shared.mutex, NULL);
    clock_cond_init(&dispatch->shared.changed);
    parking_open(services->parking, complete, dispatch);
    dispatch->lanes = calloc(strategy_total(), sizeof *dispatch->lanes);
    dispatch->counters = calloc(strategy_total(), sizeof *dispatch->counters);
    dispatch->sweeper = sweeper_create(services, submit, dispatch);
    bool made =
        dispatch->lanes && dispatch->counters && dispatch->sweeper && create_lanes(dispatch);
    if (made) {
        register_order_metrics(dispatch);
        register_holds(dispatch);
        register_gauges(dispatch);
    }
    if (!made || !start_threads(dispatch)) {
        error_set(error, ERROR_INTERNAL, "cannot start the dispatch threads");
        dispatch_destroy(dispatch);
        return NULL;
    }
    return dispatch;
}

static struct order *refuse_all(struct order *list, enum order_outcome outcome)
{
    for (struct order *order = list; order; order = order->next)
        order->outcome = outcome;
    return list;
}

/* Takes the orders of the first order's strategy out of the list; those that can be refused at once
 * go to `refused`. */
static struct order *take_lane(struct dispatch *dispatch, struct order **list,
                               struct order **refused)
{
    const struct strategy *strategy = (*list)->strategy;
    void *instance = strategy_instance(dispatch->services, strategy);
    struct order *taken = NULL;
    struct order **end = &taken;

    for (struct order **at = list; *at;) {
        struct order *order = *at;
        if (order->strategy != strategy) {
            at = &order->next;
            continue;
        }
        *at = order->next;
        order->next = NULL;
        if (strategy->refuse_now && strategy->refuse_now(instance, order)) {
            cost_charge(dispatch->services, strategy, COST_REFUSED, 1); /* it has cost nothing */
            order->next = *refused;
            *refused = order;
        } else {
            *end = order;
            end = &order->next;
        }
    }
    return taken;
}

void dispatch_submit(struct dispatch *dispatch, struct order *list)
{
    bool draining = atomic_load(&dispatch->draining);

    atomic_fetch_add(&dispatch->orders_in_flight, order_count(list));
    while (list) {
        size_t i = strategy_index(list->strategy);
        struct order *refused = NULL;
        struct order *taken = take_lane(dispatch, &list, &refused);
        complete(dispatch, refused);
        if (!taken)
            continue;
        if (draining) {
            complete(dispatch, refuse_all(taken, ORDER_SHUTTING_DOWN));
            continue;
        }
        complete(dispatch, lane_put(dispatch->lanes[i].lane, taken));
        workers_call(dispatch->workers, i);
    }
}

bool dispatch_submit_task(struct dispatch *dispatch, struct task *task)
{
    bool refused = atomic_load(&dispatch->draining) && task->kind != TASK_METRICS && !task->owed;

    atomic_fetch_add(&dispatch->tasks_in_flight, 1);
    if (!refused && tasks_put(dispatch->tasks[task->kind], task))
        return true;
    atomic_fetch_sub(&dispatch->tasks_in_flight, 1);
    return false;
}

void dispatch_sweep(struct dispatch *dispatch)
{
    atomic_store(&dispatch->sweeping, true);
}

void dispatch_count_payment(struct dispatch *dispatch, enum order_outcome outcome)
{
    metrics_add(dispatch->payments[outcome], 1);
}

int64_t dispatch_in_flight(const struct dispatch *dispatch)
{
    return atomic_load(&dispatch->orders_in_flight) + atomic_load(&dispatch->tasks_in_flight);
}

void dispatch_drain(struct dispatch *dispatch)
{
    atomic_store(&dispatch->draining, true);
}

void dispatch_flush(struct dispatch *dispatch)
{
    for (size_t i = 0; i < dispatch->count; i++)
        complete(dispatch, lane_flush(dispatch->lanes[i].lane, ORDER_SHUTTING_DOWN));
}

static void stop_janitor(struct dispatch *dispatch)
{
    if (!dispatch->janitor_started)
        return;
    pthread_mutex_lock(&dispatch->shared.mutex);
    dispatch->shared.stopping = true;
    pthread_cond_broadcast(&dispatch->shared.changed);
    pthread_mutex_unlock(&dispatch->shared.mutex);
    pthread_join(dispatch->janitor, NULL);
}

void dispatch_destroy(struct dispatch *dispatch)
{
    if (!dispatch)
        return;
    dispatch_drain(dispatch);
    background_destroy(dispatch->background); /* nothing is submitted any more */
    stop_janitor(dispatch);
    for (size_t i = 0; i < dispatch->count; i++)
        lane_wake(dispatch->lanes[i].lane, true);
    dispatch_flush(dispatch);
    workers_destroy(dispatch->workers);
    flusher_stop(dispatch->services->flusher);
    parking_close(dispatch->services->parking);
    for (int kind = 0; kind < TASK_KIND_COUNT; kind++)
        tasks_destroy(dispatch->tasks[kind]);
    sweeper_destroy(dispatch->sweeper);
    for (size_t i = 0; i < dispatch->count; i++)
        lane_destroy(dispatch->lanes[i].lane);
    pthread_cond_destroy(&dispatch->shared.changed);
    pthread_mutex_destroy(&dispatch->shared.mutex);
    free(dispatch->lanes);
    free(dispatch->counters);
    free(dispatch);
}
