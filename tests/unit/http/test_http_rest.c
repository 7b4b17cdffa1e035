/*
 * When the loop rests, and how long. Turns are made up here; the clock is real, so a turn that is
 * kept from its core for as long as it should rest does not rest, and is taken again.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "http/edge.h"

enum { TRIES = 1000, GROUP_LEAST = 8, CROWD_LEAST = 512 };

static const int64_t MS = 1000;

static struct http http;

static int open_metrics(void **state)
{
    (void)state;
    edge_rest_init(&http);
    return 0;
}

/* Whether orders were turned away in the turn before is all that this one knows of others. */
static void begin(int64_t turned_away, int64_t worked_us)
{
    http.full_until_us = 0;
    http.turned_away = turned_away;
    http.arrived = 1;
    http.now_us = clock_mono_us() - worked_us;
    edge_rest_begin(&http);
    assert_int_equal(http.turned_away, 0);
    assert_int_equal(http.arrived, 0);
}

/* How long the loop rests at the end of a turn that has lasted so long already. */
static int64_t rest_of_turn(int64_t waiting, int64_t arrived, int64_t turned_away,
                            int64_t worked_us)
{
    begin(turned_away, worked_us);
    int64_t left_us = http.rest_left_us;
    http.waiting_count = waiting;
    http.arrived = arrived;
    edge_rest(&http);
    return left_us - http.rest_left_us;
}

static bool rests(int64_t waiting, int64_t arrived)
{
    for (int i = 0; i < TRIES; i++)
        if (rest_of_turn(waiting, arrived, 0, 0) > 0)
            return true;
    return false;
}

static void a_group_is_waited_for(void **state)
{
    (void)state;
    assert_true(rests(CROWD_LEAST, GROUP_LEAST));
    assert_false(rests(CROWD_LEAST, GROUP_LEAST - 1));
    assert_false(rests(64, GROUP_LEAST));
}

static void a_crowd_is_waited_for_however_few_come(void **state)
{
    (void)state;
    assert_true(rests(CROWD_LEAST + 1000, 0));
}

/* Whoever has worked as long as it should rest has let them come together. */
static void a_long_turn_is_rest_enough(void **state)
{
    (void)state;
    for (int i = 0; i < TRIES; i++)
        assert_int_equal(rest_of_turn(CROWD_LEAST, GROUP_LEAST, 0, 1 * MS), 0);
}

static void turning_away_costs_a_rest(void **state)
{
    (void)state;
    assert_int_equal(rest_of_turn(1, 0, 0, 2 * MS), 0);
    assert_true(rest_of_turn(1, 0, 1, 2 * MS) >= 16 * MS);
}

/* How long the loop rests between two requests. */
static int64_t breath(int64_t worked_us)
{
    int64_t left_us = http.rest_left_us;

    http.worked_from_us = clock_mono_us() - worked_us;
    edge_breathe(&http);
    return left_us - http.rest_left_us;
}

static void a_long_turn_rests_on_its_way(void **state)
{
    (void)state;
    begin(0, 0);
    assert_int_equal(breath(1 * MS), 0);
    begin(1, 0);
    assert_true(breath(1 * MS) >= 8 * MS);
    /* It counts from there on. */
    assert_true(clock_mono_us() - http.worked_from_us < 1000 * MS);
    assert_int_equal(breath(-1000 * MS), 0);
}

/* The refused come in waves: a turn between two of them works for them as well. */
static void full_queues_are_remembered_for_some_turns(void **state)
{
    (void)state;
    begin(1, 0);
    int64_t until_us = http.full_until_us;
    assert_true(until_us >= http.now_us + 5 * http.rest_left_us);
    http.now_us = until_us - 1;
    edge_rest_begin(&http);
    assert_true(breath(1 * MS) >= 8 * MS);
    http.now_us = until_us;
    edge_rest_begin(&http);
    assert_int_equal(breath(1 * MS), 0);
}

/* Those that wait are answered all the same. */
static void a_turn_does_not_rest_for_ever(void **state)
{
    (void)state;
    begin(1, 0);
    int64_t most_us = http.rest_left_us;
    assert_int_equal(most_us, 50 * MS);
    int64_t rested_us = breath(1000 * MS);
    assert_true(rested_us >= most_us && rested_us < 7000 * MS);
    assert_int_equal(breath(100 * MS), 0);
    edge_rest(&http);
    assert_int_equal(http.rest_left_us, most_us - rested_us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_is_waited_for),
        cmocka_unit_test(a_crowd_is_waited_for_however_few_come),
        cmocka_unit_test(a_long_turn_is_rest_enough),
        cmocka_unit_test(turning_away_costs_a_rest),
        cmocka_unit_test(a_long_turn_rests_on_its_way),
        cmocka_unit_test(full_queues_are_remembered_for_some_turns),
        cmocka_unit_test(a_turn_does_not_rest_for_ever),
    };

    return cmocka_run_group_tests(tests, open_metrics, NULL);
}
