/*
 * Workers: service of a lane for which no thread can be started.
 *
 * Only the test calls, not even dispatch's janitor, which would repeat a call that went unheard.
 * The database is out of reach, so each order is decided at once; the test stops a worker where it
 * hands an order back.
 */
#include "dispatch/worker.h"
#include "drive/drive.h"
#include "lib/t.h"
#include "metrics/metrics.h"
#include "strategies/strategies.h"
#include "strategy/cost_accounting.h"
#include "unit/dispatch/lane_orders.h"

#include <semaphore.h>
#include <time.h>

/* Less than an idle worker's time, at the end of which it looks around whatever was heard. */
enum { PATIENCE_S = 60 };

enum { LANES = 3, ORDERS = 4, PERMITS = 2 };

static const char *const names[LANES] = {"serializable", "advisory-lock", "lock-row"};

static const struct settings settings = {.work_timeout_ms = 5000};

static struct {
    struct store *store;
    struct services services;
    struct worker_lane lanes[LANES];
    struct workers *workers;
    struct order orders[ORDERS];
    struct {
        sem_t decided;
        sem_t go; /* the worker goes on */
    } steps[ORDERS];
} here;

static void on_decided(void *context, struct order *list)
{
    (void)context;
    for (struct order *next; list; list = next) {
        int64_t i = list->user_id;

        next = list->next;
        sem_post(&here.steps[i].decided);
        sem_wait(&here.steps[i].go);
    }
}

static int open_shop(void **state)
{
    struct error error;

    (void)state;
    here.store = store_create("host=/nonexistent", (struct store_limits){0},
                              (struct store_schema){.name = "seckill"}, &error);
    assert_non_null(here.store);
    here.services.backends[BACKEND_POSTGRESQL] = here.store;
    here.services.settings = &settings;
    here.services.metrics = metrics_create();
    here.services.costs = cost_counters_create(here.services.metrics, &strategy_list);
    here.services.strategies = &strategy_list;
    for (int i = 0; i < LANES; i++) {
        const struct strategy *strategy = strategy_find(names[i]);
        here.lanes[i] = (struct worker_lane){
            .strategy = strategy, .lane = lane_create(&strategy->lane, 10), .max_batch = 1};
    }
    for (int i = 0; i < ORDERS; i++) {
        sem_init(&here.steps[i].decided, 0, 0);
        sem_init(&here.steps[i].go, 0, 0);
    }
    here.workers = workers_create(&here.services, here.lanes, LANES, PERMITS, on_decided, NULL);
    return 0;
}

static int close_shop(void **state)
{
    (void)state;
    for (int i = 0; i < ORDERS; i++)
        sem_post(&here.steps[i].go); /* for one whom a failed test has left standing */
    for (int i = 0; i < LANES; i++)
        lane_wake(here.lanes[i].lane, true);
    workers_destroy(here.workers);
    for (int i = 0; i < LANES; i++)
        lane_destroy(here.lanes[i].lane);
    store_destroy(here.store);
    cost_counters_destroy(here.services.costs);
    metrics_destroy(here.services.metrics);
    return 0;
}

/* Each order is for a product of its own, which any worker of the lane may take. */
static void put(int lane, int order)
{
    here.orders[order] = order_for(order + 1, order);
    assert_null(put_one(here.lanes[lane].lane, &here.orders[order]));
    workers_call(here.workers, (size_t)lane);
}

static void await(int order)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    assert_int_equal(sem_timedwait(&here.steps[order].decided, &until), 0);
}

static void let_go(int order)
{
    sem_post(&here.steps[order].go);
}

static void await_sleep(int lane)
{

    T_UNTIL(lane_counts(here.lanes[lane].lane).idle != 0);
}

/* It was busy when it was asked for, and is not asked again. */
TEST(a_worker_looks_around_before_it_sleeps)
{
    put(0, 0);
    await(0);
    put(1, 1);
    await(1);
    put(0, 2);
    let_go(1);
    await(2);
    let_go(2);
    let_go(0);
}

/* That somebody went to a lane with nobody does not keep the next lane, which has one, waiting. */
TEST(who_was_called_to_one_lane_hears_of_the_next)
{
    put(0, 0);
    await(0);
    put(1, 1);
    await(1);
    let_go(1);
    await_sleep(1);
    put(2, 2);
    await(2);
    let_go(2);
    await_sleep(2);
    put(0, 3);
    await(3);
    let_go(3);
    let_go(0);
}

TEST_EACH(open_shop, close_shop)
