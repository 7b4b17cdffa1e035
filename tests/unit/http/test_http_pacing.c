/* When the loop hands over and when it answers refused orders. The time is made up. */
#include "lib/t.h"

#include "base/clock.h"
#include "http/edge/edge.h"

enum { GROUP_LEAST = 8, CROWD_LEAST = 512, GROUP_SIZE = 64 };

static const int64_t MS = 1000;
static const int64_t START_US = 1000000000;

static struct http http;
static struct order refused[3];

static struct services services;

static int open_metrics(void **state)
{
    (void)state;
    services.metrics = metrics_create();
    http.services = &services;
    edge_pace_init(&http);
    return 0;
}

static int close_metrics(void **state)
{
    (void)state;
    metrics_destroy(services.metrics);
    return 0;
}

/* An edge on which nothing has happened yet. */
static int begin(void **state)
{
    struct metric held_us = http.held_us;

    (void)state;
    http = (struct http){.held_us = held_us, .now_us = START_US, .held_last = &http.held_first};
    for (int i = 0; i < 3; i++)
        refused[i] = (struct order){.outcome = ORDER_QUEUE_FULL};
    return 0;
}

static int64_t pause_us(int64_t waiting, int64_t arrived)
{
    begin(NULL);
    http.waiting_count = waiting;
    http.arrived = arrived;
    edge_pace_handed_over(&http);
    assert_int_equal(http.arrived, 0);
    return edge_pace_pauses(&http) ? edge_pace_next_us(&http) - START_US : 0;
}

TEST_WITH(a_group_is_waited_for, NULL, NULL)
{
    assert_int_equal(pause_us(GROUP_SIZE + 1000, GROUP_LEAST), 600);
    assert_int_equal(pause_us(GROUP_SIZE + 400, GROUP_LEAST - 1), 0);
    assert_int_equal(pause_us(GROUP_SIZE, GROUP_LEAST), 0);
}

TEST_WITH(a_crowd_is_waited_for_however_few_come, NULL, NULL)
{
    assert_int_equal(pause_us(CROWD_LEAST + 10000, 0), 6 * MS);
    assert_int_equal(pause_us(CROWD_LEAST, 0), 0);
}

TEST_WITH(a_pause_ends_by_itself_and_with_a_drain, NULL, NULL)
{
    assert_int_equal(pause_us(CROWD_LEAST + 10000, 0), 6 * MS);
    http.now_us += 6 * MS - 1;
    assert_true(edge_pace_pauses(&http));
    http.now_us += 1;
    assert_false(edge_pace_pauses(&http));
    assert_int_equal(edge_pace_next_us(&http), INT64_MAX);
    assert_int_equal(pause_us(CROWD_LEAST + 10000, 0), 6 * MS);
    http.draining = true;
    assert_false(edge_pace_pauses(&http));
}

/* The loop works for so long in a turn, then wakes again at once. */
static void work(int64_t us)
{
    edge_pace_worked(&http, http.now_us + us);
    http.now_us += us;
}

TEST(nobody_else_is_held_back)
{
    for (int outcome = 0; outcome < ORDER_OUTCOME_COUNT; outcome++) {
        struct order order = {.outcome = (enum order_outcome)outcome};
        if (order.outcome != ORDER_QUEUE_FULL)
            assert_false(edge_pace_holds(&http, &order));
    }
    assert_null(edge_pace_release(&http));
    assert_int_equal(edge_pace_next_us(&http), INT64_MAX);
}

/* Eight times as long as the loop has worked, for the first one and for those that come after. */
TEST(refused_orders_wait_for_the_work_that_they_cost)
{
    work(2 * MS);
    int64_t from_us = http.now_us;
    assert_true(edge_pace_holds(&http, &refused[0]));
    assert_int_equal(edge_pace_next_us(&http), from_us + 16 * MS);
    work(1 * MS);
    assert_true(edge_pace_holds(&http, &refused[1]));
    assert_int_equal(edge_pace_next_us(&http), from_us + 24 * MS);
    http.now_us = from_us + 24 * MS - 1;
    assert_null(edge_pace_release(&http));
    http.now_us++;
    assert_ptr_equal(edge_pace_release(&http), &refused[0]);
    assert_ptr_equal(refused[0].next, &refused[1]);
    assert_null(refused[1].next);
    /* From here on it counts anew. */
    assert_null(edge_pace_release(&http));
    work(1 * MS);
    assert_true(edge_pace_holds(&http, &refused[2]));
    assert_int_equal(edge_pace_next_us(&http), http.now_us + 8 * MS);
}

TEST(nobody_is_held_back_for_ever)
{
    assert_true(edge_pace_holds(&http, &refused[0]));
    work(10000 * MS);
    assert_int_equal(edge_pace_next_us(&http), START_US + 250 * MS);
    assert_ptr_equal(edge_pace_release(&http), &refused[0]);
}

/* A refusal now and then does not pay for all that the loop does for others. */
TEST(old_work_is_forgotten)
{
    work(200 * MS);
    http.now_us += 1000 * MS;
    work(1 * MS);
    assert_true(edge_pace_holds(&http, &refused[0]));
    assert_int_equal(edge_pace_next_us(&http), http.now_us + 8 * MS);
}

TEST(a_drain_answers_the_refused_at_once)
{
    work(1 * MS);
    assert_true(edge_pace_holds(&http, &refused[0]));
    http.draining = true;
    assert_false(edge_pace_holds(&http, &refused[1]));
    assert_ptr_equal(edge_pace_release(&http), &refused[0]);
}

TEST_GROUP(open_metrics, close_metrics)
TEST_EACH(begin, NULL)
